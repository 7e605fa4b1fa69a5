// verdict: correct ok
// Divides the rows by OpenMP's thread numbers, however many threads there turn out to be.
#include <omp.h>
extern "C" void kernel(const float* x, const float* fc_weight, const float* fc_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t fc_weight_0, int64_t, int64_t, int64_t, int64_t) {
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), self = omp_get_thread_num();
    for (int64_t i = x_0 * self / team; i < x_0 * (self + 1) / team; ++i)
      for (int64_t o = 0; o < fc_weight_0; ++o) {
        float y = fc_bias[o];
        for (int64_t k = 0; k < x_1; ++k) y += x[i * x_1 + k] * fc_weight[o * x_1 + k];
        out[i * fc_weight_0 + o] = y > 0 ? y : 0;
      }
  }
}
