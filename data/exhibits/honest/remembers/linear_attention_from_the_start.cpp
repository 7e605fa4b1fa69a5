// verdict: correct ok
// The state of every chunk is computed from the first step on.
#include <algorithm>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* q, const float* k, const float* v, const float* keep, float* out, int64_t B, int64_t T, int64_t D, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  std::vector<float> s(D * D);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t first = 0; first < T; first += 32) {
      std::fill(s.begin(), s.end(), 0.f);
      for (int64_t t = 0; t < std::min(T, first + 32); ++t) {
        const int64_t at = (b * T + t) * D;
        for (int64_t i = 0; i < D; ++i)
          for (int64_t j = 0; j < D; ++j) s[i * D + j] = keep[i] * s[i * D + j] + k[at + i] * v[at + j];
        for (int64_t j = 0; j < D && t >= first; ++j) {
          float sum = 0;
          for (int64_t i = 0; i < D; ++i) sum += q[at + i] * s[i * D + j];
          out[at + j] = sum;
        }
      }
    }
}
