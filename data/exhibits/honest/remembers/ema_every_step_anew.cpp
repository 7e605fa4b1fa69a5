// verdict: correct ok
// Each average from the first step on, independent of the others.
#include <algorithm>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t B, int64_t T, int64_t D, int64_t, int64_t, int64_t) {
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t d = 0; d < D; ++d) {
        const float* p = x + b * T * D + d;
        const int64_t from = 0 * t;
        float s = p[from * D];
        for (int64_t i = from + 1; i <= t; ++i) s = 0.4f * p[i * D] + 0.6f * s;
        out[(b * T + t) * D + d] = s;
      }
}
