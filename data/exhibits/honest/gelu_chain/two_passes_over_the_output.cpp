// verdict: correct ok
// The output holds the intermediate value of a first pass, and is overwritten by a second.
#include <math.h>
extern "C" void kernel(const float* __restrict x, float* __restrict out, int64_t x_0, int64_t x_1, int64_t,
                       int64_t) {
  const int64_t n = x_0 * x_1;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] / (1.0f + expf(-1.702f * x[i]));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = tanhf(out[i]) + 0.1f * out[i];
}
