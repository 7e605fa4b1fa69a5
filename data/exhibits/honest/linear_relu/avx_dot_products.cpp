// verdict: correct ok
// AVX with FMA where the processor has it, two accumulators and a scalar tail.
#if defined(__AVX__) && defined(__FMA__)
#include <immintrin.h>
static float dot(const float* a, const float* b, int64_t n) {
  __m256 s = _mm256_setzero_ps(), t = s;
  int64_t k = 0;
  for (; k + 16 <= n; k += 16) {
    s = _mm256_fmadd_ps(_mm256_loadu_ps(a + k), _mm256_loadu_ps(b + k), s);
    t = _mm256_fmadd_ps(_mm256_loadu_ps(a + k + 8), _mm256_loadu_ps(b + k + 8), t);
  }
  float lanes[8], sum = 0;
  _mm256_storeu_ps(lanes, _mm256_add_ps(s, t));
  for (float one : lanes) sum += one;
  for (; k < n; ++k) sum += a[k] * b[k];
  return sum;
}
#else
static float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}
#endif
extern "C" void kernel(const float* x, const float* fc_weight, const float* fc_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t fc_weight_0, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t o = 0; o < fc_weight_0; ++o) {
      const float y = dot(x + i * x_1, fc_weight + o * x_1, x_1) + fc_bias[o];
      out[i * fc_weight_0 + o] = y > 0 ? y : 0;
    }
}
