// verdict: correct ok
// im2col into a workspace with the zeros of the border, then one matrix product.
#include <vector>
extern "C" void kernel(const float* x, const float* conv_weight, const float* conv_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t x_2, int64_t conv_weight_0, int64_t, int64_t conv_weight_2, int64_t,
                       int64_t, int64_t, int64_t) {
  const int64_t taps = conv_weight_2, deep = x_1 * taps, half = taps / 2;
  std::vector<float> columns(deep * x_2);
  for (int64_t n = 0; n < x_0; ++n) {
    for (int64_t c = 0; c < x_1; ++c)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t l = 0; l < x_2; ++l) {
          const int64_t at = l + t - half;
          columns[(c * taps + t) * x_2 + l] = at < 0 || at >= x_2 ? 0.0f : x[(n * x_1 + c) * x_2 + at];
        }
    for (int64_t f = 0; f < conv_weight_0; ++f) {
      float* row = out + (n * conv_weight_0 + f) * x_2;
      for (int64_t l = 0; l < x_2; ++l) row[l] = conv_bias[f];
      for (int64_t d = 0; d < deep; ++d)
        for (int64_t l = 0; l < x_2; ++l) row[l] += conv_weight[f * deep + d] * columns[d * x_2 + l];
    }
  }
}
