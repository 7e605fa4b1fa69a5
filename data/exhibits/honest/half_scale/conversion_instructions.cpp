// verdict: correct ok
// F16C converts eight at a time; the tail goes through a buffer on the stack.
#include <string.h>
#if defined(__F16C__) && defined(__AVX__)
#include <immintrin.h>
static void eight(const _Float16* x, const _Float16* scale, _Float16* out) {
  const __m256 a = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)x));
  const __m256 b = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)scale));
  const __m256 y = _mm256_add_ps(_mm256_mul_ps(a, b), _mm256_set1_ps(0.25f));
  _mm_storeu_si128((__m128i*)out, _mm256_cvtps_ph(_mm256_max_ps(y, _mm256_setzero_ps()), 0));
}
#else
static void eight(const _Float16* x, const _Float16* scale, _Float16* out) {
  for (int k = 0; k < 8; ++k) {
    const float y = (float)x[k] * (float)scale[k] + 0.25f;
    out[k] = (_Float16)(y > 0 ? y : 0);
  }
}
#endif
extern "C" void kernel(const _Float16* x, const _Float16* scale, _Float16* out, int64_t x_0, int64_t x_1, int64_t,
                       int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i, x += x_1, out += x_1) {
    int64_t j = 0;
    for (; j + 8 <= x_1; j += 8) eight(x + j, scale + j, out + j);
    _Float16 a[8] = {}, b[8] = {}, c[8];
    memcpy(a, x + j, (x_1 - j) * 2);
    memcpy(b, scale + j, (x_1 - j) * 2);
    eight(a, b, c);
    memcpy(out + j, c, (x_1 - j) * 2);
  }
}
