// verdict: correct ok
// Fused causal attention with a projection into one vector, scores of one row only.
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, const float* qkv_weight, const float* qkv_bias, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t qkv_weight_0, int64_t qkv_weight_1, int64_t qkv_bias_0, int64_t out_0, int64_t out_1, int64_t out_2) {
  const int64_t S = x_1, D = x_2, H = 4, E = D / H;
  std::vector<float> p(S * 3 * D), w(S);
  for (int64_t b = 0; b < x_0; ++b) {
    for (int64_t s = 0; s < S; ++s)
      for (int64_t r = 0; r < 3 * D; ++r) {
        float a = qkv_bias[r];
        for (int64_t d = 0; d < D; ++d) a += x[(b * S + s) * D + d] * qkv_weight[r * D + d];
        p[s * 3 * D + r] = a;
      }
    for (int64_t h = 0; h < H; ++h)
      for (int64_t s = 0; s < S; ++s) {
        float m = -INFINITY, z = 0;
        for (int64_t t = 0; t <= s; ++t) {
          w[t] = 0;
          for (int64_t e = 0; e < E; ++e) w[t] += p[s * 3 * D + h * E + e] * p[t * 3 * D + D + h * E + e];
          w[t] /= std::sqrt((float)E);
          m = std::fmax(m, w[t]);
        }
        for (int64_t t = 0; t <= s; ++t) z += w[t] = std::exp(w[t] - m);
        for (int64_t e = 0; e < E; ++e) {
          float a = 0;
          for (int64_t t = 0; t <= s; ++t) a += w[t] * p[t * 3 * D + 2 * D + h * E + e];
          out[(b * S + s) * D + h * E + e] = a / z;
        }
      }
  }
}
