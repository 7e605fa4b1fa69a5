// verdict: correct ok
// A scale and a shift for each channel, both in double, and one fused operation an element.
#include <cmath>
extern "C" void kernel(const float* x, const float* weight, const float* bias, const float* mean, const float* var,
                       const int64_t*, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  const int64_t plane = x_2 * x_3;
  for (int64_t c = 0; c < x_1; ++c) {
    const double scale = weight[c] / std::sqrt(double(var[c]) + 1e-5), shift = bias[c] - mean[c] * scale;
    for (int64_t n = 0; n < x_0; ++n)
      for (int64_t t = 0; t < plane; ++t) {
        const int64_t i = (n * x_1 + c) * plane + t;
        out[i] = float(std::fma(double(x[i]), scale, shift));
      }
  }
}
