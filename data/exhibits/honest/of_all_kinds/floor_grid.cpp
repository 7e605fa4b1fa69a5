// verdict: correct ok
// Cell index and fraction (a discontinuous pair) by std::floor in float32.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, int64_t* out0, float* out1, int64_t x_0, int64_t out0_0, int64_t out1_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    float t = x[i] * 10.0f, c = std::floor(t);
    out0[i] = (int64_t)c;
    out1[i] = t - c;
  }
}
