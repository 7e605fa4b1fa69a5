// verdict: correct ok
// Pairwise summation by recursion down to 13 terms.
#include <cstdint>
static float sq(const float* a, const float* b, int64_t n) {
  if (n <= 13) {
    float s = 0;
    for (int64_t i = 0; i < n; ++i) s += (a[i] - b[i]) * (a[i] - b[i]);
    return s;
  }
  int64_t h = n / 2;
  return sq(a, b, h) + sq(a + h, b + h, n - h);
}
extern "C" void kernel(const float* a, const float* b, float* out, int64_t a_0, int64_t b_0) { out[0] = sq(a, b, a_0) / (float)a_0; }
