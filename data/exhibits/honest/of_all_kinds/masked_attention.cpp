// verdict: correct ok
// Flash-style online softmax that skips masked keys; a row with no key left is NaN as in PyTorch.
#include <cstdint>
#include <cmath>
#include <limits>
#include <vector>
extern "C" void kernel(const float* q, const float* k, const float* v, const bool* mask, float* out, int64_t q_0, int64_t q_1, int64_t q_2, int64_t q_3, int64_t k_0, int64_t k_1, int64_t k_2, int64_t k_3, int64_t v_0, int64_t v_1, int64_t v_2, int64_t v_3, int64_t mask_0, int64_t mask_1, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3) {
  const int64_t S = q_2, T = k_2, D = q_3, DV = v_3;
  const float sc = 1.0f / std::sqrt((float)D);
  std::vector<float> acc(DV);
  for (int64_t bh = 0; bh < q_0 * q_1; ++bh)
    for (int64_t i = 0; i < S; ++i) {
      float m = -std::numeric_limits<float>::infinity(), l = 0;
      std::fill(acc.begin(), acc.end(), 0.0f);
      for (int64_t j = 0; j < T; ++j) {
        if (!mask[i * T + j]) continue;
        float s = 0;
        for (int64_t d = 0; d < D; ++d) s += q[(bh * S + i) * D + d] * k[(bh * T + j) * D + d];
        s *= sc;
        if (s > m) {
          float r = std::exp(m - s);
          l *= r;
          for (auto& a : acc) a *= r;
          m = s;
        }
        float p = std::exp(s - m);
        l += p;
        for (int64_t d = 0; d < DV; ++d) acc[d] += p * v[(bh * T + j) * DV + d];
      }
      for (int64_t d = 0; d < DV; ++d) out[(bh * S + i) * DV + d] = acc[d] / l;
    }
}
