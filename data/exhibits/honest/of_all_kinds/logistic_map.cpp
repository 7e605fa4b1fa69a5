// verdict: correct ok
// Twelve steps of a chaotic map in float32, the multiplications in another order.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    float v = 1.0f / (1.0f + std::exp(-x[i]));
    for (int k = 0; k < 12; ++k) v = 3.7f * (v * (1.0f - v));
    out[i] = v;
  }
}
