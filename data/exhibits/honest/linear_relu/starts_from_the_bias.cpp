// verdict: correct ok
// The bias is where each sum starts, the weights are transposed, and relu is (y + |y|) / 2.
#include <math.h>
#include <stdlib.h>
extern "C" void kernel(const float* x, const float* fc_weight, const float* fc_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t fc_weight_0, int64_t, int64_t, int64_t, int64_t) {
  const int64_t n = fc_weight_0;
  float* turned = (float*)malloc(n * x_1 * sizeof(float));
  for (int64_t o = 0; o < n; ++o)
    for (int64_t k = 0; k < x_1; ++k) turned[k * n + o] = fc_weight[o * x_1 + k];
  for (int64_t i = 0; i < x_0; ++i) {
    float* y = out + i * n;
    for (int64_t o = 0; o < n; ++o) y[o] = fc_bias[o];
    for (int64_t k = 0; k < x_1; ++k)
      for (int64_t o = 0; o < n; ++o) y[o] += x[i * x_1 + k] * turned[k * n + o];
    for (int64_t o = 0; o < n; ++o) y[o] = 0.5f * (y[o] + fabsf(y[o]));
  }
  free(turned);
}
