// verdict: correct ok
// Winograd's F(2, 3): two outputs from four products; the tail of an odd length is padded.
#include <vector>
extern "C" void kernel(const float* x, const float* conv_weight, const float* conv_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t x_2, int64_t conv_weight_0, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t) {
  std::vector<float> padded(x_2 + 4);
  for (int64_t n = 0; n < x_0; ++n)
    for (int64_t f = 0; f < conv_weight_0; ++f) {
      float* row = out + (n * conv_weight_0 + f) * x_2;
      for (int64_t l = 0; l < x_2; ++l) row[l] = conv_bias[f];
      for (int64_t c = 0; c < x_1; ++c) {
        for (int64_t l = 0; l < x_2; ++l) padded[l + 1] = x[(n * x_1 + c) * x_2 + l];
        const float* g = conv_weight + (f * x_1 + c) * 3;
        const float u0 = g[0], u1 = (g[0] + g[1] + g[2]) / 2, u2 = (g[0] - g[1] + g[2]) / 2, u3 = g[2];
        for (int64_t l = 0; l < x_2; l += 2) {
          const float* d = padded.data() + l;
          const float m0 = (d[0] - d[2]) * u0, m1 = (d[1] + d[2]) * u1, m2 = (d[2] - d[1]) * u2;
          const float m3 = (d[1] - d[3]) * u3;
          row[l] += m0 + m1 + m2;
          if (l + 1 < x_2) row[l + 1] += m1 - m2 - m3;
        }
      }
    }
}
