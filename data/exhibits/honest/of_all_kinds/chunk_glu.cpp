// verdict: correct ok
// GLU by halves of the last dimension, which must be even.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  const int64_t H = out_1;
  for (int64_t b = 0; b < x_0; ++b)
    for (int64_t i = 0; i < H; ++i) out[b * H + i] = x[b * x_1 + i] / (1.0f + std::exp(-x[b * x_1 + H + i]));
}
