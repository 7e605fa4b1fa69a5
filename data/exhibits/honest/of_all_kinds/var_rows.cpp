// verdict: correct ok
// Two-pass float32 variance; a row of one element gives NaN for the unbiased one.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out0, float* out1, int64_t x_0, int64_t x_1, int64_t out0_0, int64_t out1_0) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* p = x + r * x_1;
    float s = 0, q = 0;
    for (int64_t i = 0; i < x_1; ++i) s += p[i];
    const float mean = s / (float)x_1;
    for (int64_t i = 0; i < x_1; ++i) q += (p[i] - mean) * (p[i] - mean);
    out0[r] = q / (float)(x_1 - 1);
    out1[r] = std::sqrt(q / (float)x_1);
  }
}
