// verdict: correct ok
// Prefix sum in blocks of 97: local scans first, then block offsets are added (another rounding order).
#include <algorithm>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  const int64_t N = x_1, BS = 97;
  for (int64_t r = 0; r < x_0; ++r) {
    const float* p = x + r * N;
    float *o = out + r * N, base = 0;
    for (int64_t b = 0; b < N; b += BS) {
      int64_t e = std::min(N, b + BS);
      float s = 0;
      for (int64_t i = b; i < e; ++i) o[i] = s += p[i];
      for (int64_t i = b; i < e; ++i) o[i] += base;
      base += s;
    }
  }
}
