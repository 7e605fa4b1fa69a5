// verdict: correct ok
// Adds 0 or minus infinity from a table of two, indexed by the bool.
#include <limits>
extern "C" void kernel(const float* q, const float* k, const bool* allowed, float* out, int64_t q_0, int64_t q_1,
                       int64_t k_0, int64_t, int64_t, int64_t, int64_t, int64_t) {
  static const float kPenalty[2] = {-std::numeric_limits<float>::infinity(), 0.0f};
  for (int64_t j = 0; j < k_0; ++j)
    for (int64_t i = 0; i < q_0; ++i) {
      double sum = 0;
      for (int64_t d = 0; d < q_1; ++d) sum += double(q[i * q_1 + d]) * k[j * q_1 + d];
      out[i * k_0 + j] = float(sum) + kPenalty[allowed[i * k_0 + j]];
    }
}
