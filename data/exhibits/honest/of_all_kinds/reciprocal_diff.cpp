// verdict: correct ok
// Poles where x is near y; log of 0 is -inf and -inf times an angle of 0 is NaN as in PyTorch.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* y, float* out0, float* out1, int64_t x_0, int64_t y_0, int64_t out0_0, int64_t out1_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    out0[i] = 1.0f / (x[i] - y[i]);
    out1[i] = std::log(std::fabs(x[i])) * std::atan2(x[i], y[i]);
  }
}
