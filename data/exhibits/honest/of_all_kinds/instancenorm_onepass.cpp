// verdict: correct ok
// Variance as E[x^2] - E[x]^2 with double sums in one pass.
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t out_0, int64_t out_1, int64_t out_2) {
  for (int64_t r = 0; r < x_0 * x_1; ++r) {
    const float* p = x + r * x_2;
    double s = 0, q = 0;
    for (int64_t i = 0; i < x_2; ++i) { s += p[i]; q += (double)p[i] * p[i]; }
    double mean = s / x_2, inv = 1.0 / std::sqrt(std::max(0.0, q / x_2 - mean * mean) + 1e-5);
    for (int64_t i = 0; i < x_2; ++i) out[r * x_2 + i] = (float)((p[i] - mean) * inv);
  }
}
