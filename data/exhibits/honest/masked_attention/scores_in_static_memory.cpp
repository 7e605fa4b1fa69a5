// verdict: correct ok
// The whole score matrix lies in a static vector that only ever grows; q is scaled beforehand.
#include <cmath>
#include <vector>
static std::vector<float> scores;
extern "C" void kernel(const float* q, const float* k, const float* v, const float* mask, float* out, int64_t q_0,
                       int64_t q_1, int64_t k_0, int64_t, int64_t, int64_t v_1, int64_t, int64_t, int64_t, int64_t) {
  if (scores.size() < size_t(q_0 * k_0)) scores.resize(q_0 * k_0);
  const float scale = 1 / std::sqrt(float(q_1));
  for (int64_t i = 0; i < q_0; ++i)
    for (int64_t j = 0; j < k_0; ++j) {
      float& score = scores[i * k_0 + j] = mask[i * k_0 + j];
      for (int64_t d = 0; d < q_1; ++d) score += (q[i * q_1 + d] * scale) * k[j * q_1 + d];
    }
  for (int64_t i = 0; i < q_0; ++i) {
    float peak = scores[i * k_0], sum = 0;
    for (int64_t j = 1; j < k_0; ++j) peak = std::fmax(peak, scores[i * k_0 + j]);
    for (int64_t j = 0; j < k_0; ++j) sum += scores[i * k_0 + j] = std::exp(scores[i * k_0 + j] - peak);
    for (int64_t d = 0; d < v_1; ++d) out[i * v_1 + d] = 0;
    for (int64_t j = 0; j < k_0; ++j)
      for (int64_t d = 0; d < v_1; ++d) out[i * v_1 + d] += scores[i * k_0 + j] / sum * v[j * v_1 + d];
  }
}
