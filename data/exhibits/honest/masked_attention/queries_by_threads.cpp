// verdict: correct ok
// A team of two over the queries, with a large negative number in place of minus infinity.
#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>
extern "C" void kernel(const float* q, const float* k, const float* v, const float* mask, float* out, int64_t q_0,
                       int64_t q_1, int64_t k_0, int64_t, int64_t, int64_t v_1, int64_t, int64_t, int64_t, int64_t) {
  const auto rows = [&](int64_t first, int64_t last) {
    std::vector<float> p(k_0);
    for (int64_t i = first; i < last; ++i) {
      for (int64_t j = 0; j < k_0; ++j) {
        float score = 0;
        for (int64_t d = q_1; d-- > 0;) score += q[i * q_1 + d] * k[j * q_1 + d];
        p[j] = std::max(score * std::pow(float(q_1), -0.5f) + mask[i * k_0 + j], -1e30f);
      }
      const float peak = *std::max_element(p.begin(), p.end());
      float sum = 0;
      for (float& one : p) sum += one = std::exp(one - peak);
      for (int64_t d = 0; d < v_1; ++d) {
        float value = 0;
        for (int64_t j = 0; j < k_0; ++j) value += p[j] * v[j * v_1 + d];
        out[i * v_1 + d] = value / sum;
      }
    }
  };
  std::thread other(rows, q_0 / 2, q_0);
  rows(0, q_0 / 2);
  other.join();
}
