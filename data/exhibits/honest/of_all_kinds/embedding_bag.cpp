// verdict: correct ok
// AVX2 by target attribute, chosen at run time by __builtin_cpu_supports, with prefetch of the next row.
#include <cstdint>
#include <immintrin.h>
__attribute__((target("avx2,fma"))) static void add_avx2(float* o, const float* r, int64_t d) {
  int64_t i = 0;
  for (; i + 8 <= d; i += 8) _mm256_storeu_ps(o + i, _mm256_add_ps(_mm256_loadu_ps(o + i), _mm256_loadu_ps(r + i)));
  for (; i < d; ++i) o[i] += r[i];
}
static void add_plain(float* o, const float* r, int64_t d) {
  for (int64_t i = 0; i < d; ++i) o[i] += r[i];
}
extern "C" void kernel(const int64_t* ids, const float* emb_weight, float* out, int64_t ids_0, int64_t ids_1, int64_t emb_weight_0, int64_t emb_weight_1, int64_t out_0, int64_t out_1) {
  __builtin_cpu_init();
  auto add = __builtin_cpu_supports("avx2") ? add_avx2 : add_plain;
  const int64_t L = ids_1, D = emb_weight_1;
  for (int64_t b = 0; b < ids_0; ++b) {
    float* o = out + b * D;
    for (int64_t d = 0; d < D; ++d) o[d] = 0;
    for (int64_t l = 0; l < L; ++l) {
      if (l + 1 < L) __builtin_prefetch(emb_weight + ids[b * L + l + 1] * D);
      add(o, emb_weight + ids[b * L + l] * D, D);
    }
    for (int64_t d = 0; d < D; ++d) o[d] /= (float)L;
  }
}
