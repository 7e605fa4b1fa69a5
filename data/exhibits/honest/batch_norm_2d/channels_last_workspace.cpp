// verdict: correct ok
// Turns the images into channels-last order, works on vectors of channels, and turns them back.
#include <cmath>
#include <memory>
extern "C" void kernel(const float* x, const float* weight, const float* bias, const float* mean, const float* var,
                       const int64_t*, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  const int64_t plane = x_2 * x_3;
  const std::shared_ptr<float[]> work(new float[plane * x_1]), scale(new float[x_1]);
  for (int64_t c = 0; c < x_1; ++c) scale[c] = weight[c] / std::sqrt(var[c] + 1e-5f);
  for (int64_t n = 0; n < x_0; ++n, x += plane * x_1, out += plane * x_1) {
    for (int64_t t = 0; t < plane * x_1; ++t) work[t] = x[t % x_1 * plane + t / x_1];
    for (int64_t t = 0; t < plane; ++t)
      for (int64_t c = 0; c < x_1; ++c) work[t * x_1 + c] = (work[t * x_1 + c] - mean[c]) * scale[c] + bias[c];
    for (int64_t t = 0; t < plane * x_1; ++t) out[t] = work[t % plane * x_1 + t / plane];
  }
}
