// verdict: correct ok
// AVX-512 with masked tails by target attribute, plain loop elsewhere.
#include <cstdint>
#include <immintrin.h>
__attribute__((target("avx512f"))) static void mm512(const float* a, const float* b, float* o, int64_t M, int64_t K, int64_t N) {
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; j += 16) {
      __mmask16 m = N - j >= 16 ? 0xffff : (__mmask16)((1u << (N - j)) - 1);
      __m512 acc = _mm512_setzero_ps();
      for (int64_t k = 0; k < K; ++k)
        acc = _mm512_fmadd_ps(_mm512_set1_ps(a[i * K + k]), _mm512_maskz_loadu_ps(m, b + k * N + j), acc);
      _mm512_mask_storeu_ps(o + i * N + j, m, acc);
    }
}
extern "C" void kernel(const float* a, const float* b, float* out, int64_t a_0, int64_t a_1, int64_t b_0, int64_t b_1, int64_t out_0, int64_t out_1) {
  if (__builtin_cpu_supports("avx512f")) return mm512(a, b, out, a_0, a_1, b_1);
  for (int64_t i = 0; i < a_0; ++i)
    for (int64_t j = 0; j < b_1; ++j) {
      float s = 0;
      for (int64_t k = 0; k < a_1; ++k) s += a[i * a_1 + k] * b[k * b_1 + j];
      out[i * b_1 + j] = s;
    }
}
