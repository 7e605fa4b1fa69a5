// verdict: correct ok
// A steep exponential in float32: the rounding of 12 x is blown up by exp, as in PyTorch.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = std::exp(12.0f * x[i]);
}
