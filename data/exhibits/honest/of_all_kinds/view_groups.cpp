// verdict: correct ok
// Maximum of groups of eight, by a small recursion; the second dimension must be a multiple of 8.
#include <cmath>
#include <cstdint>
static float mx(const float* p, int n) {
  if (n == 1) return *p;
  float a = mx(p, n / 2), b = mx(p + n / 2, n - n / 2);
  return (a > b || std::isnan(a)) ? a : b;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < out_0 * out_1; ++i) out[i] = mx(x + i * 8, 8);
}
