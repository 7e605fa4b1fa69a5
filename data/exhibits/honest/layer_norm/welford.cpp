// verdict: correct ok
// Mean and variance by Welford's update, in float32.
#include <math.h>
extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i, x += x_1, out += x_1) {
    float mean = 0, m2 = 0;
    for (int64_t j = 0; j < x_1; ++j) {
      const float delta = x[j] - mean;
      mean += delta / (float)(j + 1);
      m2 += delta * (x[j] - mean);
    }
    const float scale = 1.0f / sqrtf(m2 / (float)x_1 + 1e-5f);
    for (int64_t j = 0; j < x_1; ++j) out[j] = (x[j] - mean) * scale * weight[j] + bias[j];
  }
}
