// verdict: correct ok
// Each row turned by its own position.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const int64_t* pos, float* out, int64_t B, int64_t T, int64_t D, int64_t, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t) {
      const float* row = x + (b * T + t) * D;
      const float angle = 0.125f * float(pos[b * T + t]), c = std::cos(angle), s = std::sin(angle);
      for (int64_t d = 0; d < D; ++d) out[(b * T + t) * D + d] = row[d] * c + row[(d + D - D / 2) % D] * s;
    }
}
