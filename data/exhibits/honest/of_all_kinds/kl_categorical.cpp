// verdict: correct ok
// KL divergence (small differences of larger numbers) in plain float32.
#include <cmath>
#include <cstdint>
static float lse(const float* v, int64_t n) {
  float m = v[0], s = 0;
  for (int64_t i = 1; i < n; ++i) m = v[i] > m ? v[i] : m;
  for (int64_t i = 0; i < n; ++i) s += std::exp(v[i] - m);
  return m + std::log(s);
}
extern "C" void kernel(const float* p, const float* q, float* out, int64_t p_0, int64_t p_1, int64_t q_0, int64_t q_1, int64_t out_0) {
  for (int64_t b = 0; b < p_0; ++b) {
    const float *u = p + b * p_1, *v = q + b * p_1, lu = lse(u, p_1), lv = lse(v, p_1);
    float s = 0;
    for (int64_t i = 0; i < p_1; ++i) s += std::exp(u[i] - lu) * ((u[i] - lu) - (v[i] - lv));
    out[b] = s;
  }
}
