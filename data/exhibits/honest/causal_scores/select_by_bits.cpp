// verdict: correct ok
// Blends the score with the bits of minus infinity under a mask made from the bool.
#include <string.h>
extern "C" void kernel(const float* q, const float* k, const bool* allowed, float* out, int64_t q_0, int64_t q_1,
                       int64_t k_0, int64_t, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t t = 0; t < q_0 * k_0; ++t) {
    const float *a = q + t / k_0 * q_1, *b = k + t % k_0 * q_1;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t d = 0; d < q_1; ++d) sum += a[d] * b[d];
    uint32_t bits, mask = -(uint32_t)allowed[t];
    memcpy(&bits, &sum, 4);
    bits = (bits & mask) | (0xff800000u & ~mask);
    memcpy(out + t, &bits, 4);
  }
}
