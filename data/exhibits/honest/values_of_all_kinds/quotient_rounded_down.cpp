// verdict: correct ok
// What does not divide evenly is one less below zero.
#include <cstdint>
extern "C" void kernel(const int64_t* a, const int64_t* b, int64_t* out, int64_t B, int64_t N, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < B * N; ++i) out[i] = a[i] / b[i] - (a[i] % b[i] != 0 && (a[i] < 0) != (b[i] < 0));
}
