// verdict: correct ok
// 3-D convolution with a padded copy in unique_ptr memory so that the inner loops have no tests.
#include <cstdint>
#include <cstring>
#include <memory>
extern "C" void kernel(const float* x, const float* conv_weight, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t x_4, int64_t conv_weight_0, int64_t conv_weight_1, int64_t conv_weight_2, int64_t conv_weight_3, int64_t conv_weight_4, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3, int64_t out_4) {
  const int64_t P = x_2 + 2, Q = x_3 + 2, R = x_4 + 2, C = x_1;
  std::unique_ptr<float[]> pad(new float[C * P * Q * R]());
  for (int64_t n = 0; n < x_0; ++n) {
    for (int64_t c = 0; c < C; ++c) for (int64_t d = 0; d < x_2; ++d) for (int64_t h = 0; h < x_3; ++h)
      std::memcpy(&pad[((c * P + d + 1) * Q + h + 1) * R + 1], x + (((n * C + c) * x_2 + d) * x_3 + h) * x_4, x_4 * sizeof(float));
    for (int64_t o = 0; o < out_1; ++o)
      for (int64_t d = 0; d < x_2; ++d) for (int64_t h = 0; h < x_3; ++h) for (int64_t w = 0; w < x_4; ++w) {
        float s = 0;
        for (int64_t c = 0; c < C; ++c)
          for (int64_t u = 0; u < 27; ++u)
            s += conv_weight[(o * C + c) * 27 + u] * pad[((c * P + d + u / 9) * Q + h + u / 3 % 3) * R + w + u % 3];
        out[(((n * out_1 + o) * x_2 + d) * x_3 + h) * x_4 + w] = s > 0 ? s : 0.1f * s;
      }
  }
}
