// verdict: correct ok
// Split-K: partial products of three ranges of the features in a workspace, added at the end.
#include <algorithm>
#include <vector>
extern "C" void kernel(const float* x, const float* fc_weight, const float* fc_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t fc_weight_0, int64_t, int64_t, int64_t, int64_t) {
  const int64_t n = fc_weight_0, parts = 3, size = x_0 * n;
  std::vector<float> partial(parts * size);
  for (int64_t p = 0; p < parts; ++p)
    for (int64_t i = 0; i < x_0; ++i)
      for (int64_t o = 0; o < n; ++o)
        for (int64_t k = x_1 * p / parts; k < x_1 * (p + 1) / parts; ++k)
          partial[p * size + i * n + o] += x[i * x_1 + k] * fc_weight[o * x_1 + k];
  for (int64_t t = 0; t < size; ++t) {
    float y = fc_bias[t % n];
    for (int64_t p = 0; p < parts; ++p) y += partial[p * size + t];
    out[t] = std::max(y, 0.0f);
  }
}
