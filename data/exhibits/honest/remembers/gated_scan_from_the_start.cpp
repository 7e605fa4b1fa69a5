// verdict: correct ok
// Every chunk of steps starts where the sequence does.
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* gate, float* out, int64_t B, int64_t T, int64_t D, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; t += 32)
      for (int64_t d = 0; d < D; ++d) {
        float s = 0;
        for (int64_t i = 0; i < std::min(T, t + 32); ++i) {
          const int64_t at = (b * T + i) * D + d;
          const float keep = 1 / (1 + std::exp(-gate[at]));
          s = keep * s + (1 - keep) * x[at];
          if (i >= t) out[at] = s;
        }
      }
}
