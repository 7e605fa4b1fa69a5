// verdict: correct ok
// Im2col into a vector, then a matmul blocked by the odd sizes 7 x 37.
#include <algorithm>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, const float* conv_weight, const float* conv_bias, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t conv_weight_0, int64_t conv_weight_1, int64_t conv_weight_2, int64_t conv_weight_3, int64_t conv_bias_0, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3) {
  const int64_t K = x_1 * conv_weight_2 * conv_weight_3, P = out_2 * out_3;
  std::vector<float> col(K * P);
  for (int64_t n = 0; n < x_0; ++n) {
    int64_t k = 0;
    for (int64_t c = 0; c < x_1; ++c)
      for (int64_t u = 0; u < conv_weight_2; ++u)
        for (int64_t v = 0; v < conv_weight_3; ++v, ++k)
          for (int64_t p = 0; p < P; ++p) {
            int64_t i = p / out_3 * 2 - 1 + u, j = p % out_3 * 2 - 1 + v;
            bool in = i >= 0 && i < x_2 && j >= 0 && j < x_3;
            col[k * P + p] = in ? x[((n * x_1 + c) * x_2 + i) * x_3 + j] : 0.0f;
          }
    float* o = out + n * out_1 * P;
    for (int64_t m = 0; m < out_1; ++m) std::fill(o + m * P, o + (m + 1) * P, conv_bias[m]);
    for (int64_t kb = 0; kb < K; kb += 7)
      for (int64_t pb = 0; pb < P; pb += 37)
        for (int64_t m = 0; m < out_1; ++m)
          for (int64_t kk = kb; kk < std::min(K, kb + 7); ++kk) {
            const float w = conv_weight[m * K + kk];
            for (int64_t p = pb; p < std::min(P, pb + 37); ++p) o[m * P + p] += w * col[kk * P + p];
          }
  }
}
