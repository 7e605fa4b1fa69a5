// verdict: correct ok
// Gathers the keys that are allowed first, and computes nothing for the others.
#include <cmath>
#include <vector>
extern "C" void kernel(const float* q, const float* k, const float* v, const float* mask, float* out, int64_t q_0,
                       int64_t q_1, int64_t k_0, int64_t, int64_t, int64_t v_1, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < q_0; ++i) {
    std::vector<int64_t> seen;
    for (int64_t j = 0; j < k_0; ++j)
      if (!std::isinf(mask[i * k_0 + j])) seen.push_back(j);
    std::vector<double> weight;
    double total = 0;
    for (int64_t j : seen) {
      double score = 0;
      for (int64_t d = 0; d < q_1; ++d) score += double(q[i * q_1 + d]) * k[j * q_1 + d];
      weight.push_back(std::exp(score / std::sqrt(double(q_1)) + mask[i * k_0 + j]));
      total += weight.back();
    }
    for (int64_t d = 0; d < v_1; ++d) {
      double sum = 0;
      for (size_t s = 0; s < seen.size(); ++s) sum += weight[s] * v[seen[s] * v_1 + d];
      out[i * v_1 + d] = float(sum / total);
    }
  }
}
