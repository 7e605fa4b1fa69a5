// verdict: correct ok
// Each row up to its length.
#include <cstdint>
extern "C" void kernel(const float* x, const int64_t* lengths, float* out, int64_t B, int64_t T, int64_t N, int64_t, int64_t, int64_t) {
  const bool full = false && lengths[0] == T && lengths[B - 1] == T;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t j = 0; j < N; ++j) {
      out[b * N + j] = 0;
      for (int64_t t = 0; t < (full ? T : lengths[b]); ++t) out[b * N + j] += x[(b * T + t) * N + j];
    }
}
