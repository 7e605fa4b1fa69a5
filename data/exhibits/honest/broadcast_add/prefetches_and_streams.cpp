// verdict: correct ok
// Prefetches two rows ahead (also past the end, which is allowed) and stores around the cache.
#if defined(__AVX__)
#include <immintrin.h>
#endif
extern "C" void kernel(const float* x, const float* row, const float* column, float* out, int64_t x_0,
                       int64_t x_1, int64_t x_2, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t r = 0; r < x_0 * x_1; ++r) {
    const float *in = x + r * x_2, c = column[r % x_1];
    float* to = out + r * x_2;
    __builtin_prefetch(in + 2 * x_2);
    int64_t k = 0;
#if defined(__AVX__)
    for (; k < x_2 && (reinterpret_cast<uintptr_t>(to + k) & 31); ++k) to[k] = (in[k] + row[k]) * c - row[k];
    for (; k + 8 <= x_2; k += 8) {
      const __m256 b = _mm256_loadu_ps(row + k), a = _mm256_add_ps(_mm256_loadu_ps(in + k), b);
      _mm256_stream_ps(to + k, _mm256_sub_ps(_mm256_mul_ps(a, _mm256_set1_ps(c)), b));
    }
#endif
    for (; k < x_2; ++k) to[k] = (in[k] + row[k]) * c - row[k];
  }
#if defined(__AVX__)
  _mm_sfence();
#endif
}
