// verdict: correct ok
// The width is dispatched to a template for 66 features, else to a general loop.
#include <algorithm>
template <int64_t kWidth>
static float dot(const float* a, const float* b, int64_t width) {
  const int64_t n = kWidth ? kWidth : width;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}
using Dot = float (*)(const float*, const float*, int64_t);
extern "C" void kernel(const float* x, const float* fc_weight, const float* fc_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t fc_weight_0, int64_t, int64_t, int64_t, int64_t) {
  const Dot by = x_1 == 66 ? dot<66> : dot<0>;
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t o = 0; o < fc_weight_0; ++o)
      out[i * fc_weight_0 + o] = std::max(0.0f, by(x + i * x_1, fc_weight + o * x_1, x_1) + fc_bias[o]);
}
