// verdict: correct ok
// One-pass Welford variance in float32.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* ln_weight, const float* ln_bias, float* out, int64_t x_0, int64_t x_1, int64_t ln_weight_0, int64_t ln_bias_0, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* p = x + r * x_1;
    float mean = 0, m2 = 0;
    for (int64_t i = 0; i < x_1; ++i) {
      float d = p[i] - mean;
      mean += d / (float)(i + 1);
      m2 += d * (p[i] - mean);
    }
    float inv = 1.0f / std::sqrt(m2 / (float)x_1 + 1e-5f);
    for (int64_t i = 0; i < x_1; ++i) out[r * x_1 + i] = (p[i] - mean) * inv * ln_weight[i] + ln_bias[i];
  }
}
