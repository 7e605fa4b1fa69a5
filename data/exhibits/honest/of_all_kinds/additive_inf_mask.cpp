// verdict: correct ok
// Additive -inf mask; masked places are exact zeros, a row of -inf is NaN by inf - inf.
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* scores, const float* mask, float* out, int64_t scores_0, int64_t scores_1, int64_t scores_2, int64_t scores_3, int64_t mask_0, int64_t mask_1, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3) {
  const int64_t S = scores_2, T = scores_3;
  std::vector<float> t(T);
  for (int64_t r = 0; r < scores_0 * scores_1 * S; ++r) {
    float m = -INFINITY, s = 0;
    for (int64_t j = 0; j < T; ++j) {
      t[j] = scores[r * T + j] + mask[r % S * T + j];
      m = std::fmax(m, t[j]);
    }
    for (int64_t j = 0; j < T; ++j) s += t[j] = std::exp(t[j] - m);
    const float inv = 1.0f / s;
    for (int64_t j = 0; j < T; ++j) out[r * T + j] = t[j] * inv;
  }
}
