// verdict: correct ok
// Fast phases in float32: the rounding of 200 x shows in the sine, as in PyTorch.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = std::sin(200.0f * x[i]) + std::cos(50.0f * x[i]);
}
