// verdict: correct ok
// One pass over the keys with running maximum, sum and weighted values, as flash attention does.
#include <cmath>
#include <vector>
extern "C" void kernel(const float* q, const float* k, const float* v, const float* mask, float* out, int64_t q_0,
                       int64_t q_1, int64_t k_0, int64_t, int64_t, int64_t v_1, int64_t, int64_t, int64_t, int64_t) {
  std::vector<float> sum(v_1);
  for (int64_t i = 0; i < q_0; ++i) {
    float peak = -INFINITY, norm = 0;
    sum.assign(v_1, 0.0f);
    for (int64_t j = 0; j < k_0; ++j) {
      float score = 0;
      for (int64_t d = 0; d < q_1; ++d) score += q[i * q_1 + d] * k[j * q_1 + d];
      score = score / std::sqrt(float(q_1)) + mask[i * k_0 + j];
      if (score == -INFINITY) continue;
      const float higher = std::fmax(peak, score), old = std::exp(peak - higher), now = std::exp(score - higher);
      norm = norm * old + now;
      for (int64_t d = 0; d < v_1; ++d) sum[d] = sum[d] * old + now * v[j * v_1 + d];
      peak = higher;
    }
    for (int64_t d = 0; d < v_1; ++d) out[i * v_1 + d] = sum[d] / norm;
  }
}
