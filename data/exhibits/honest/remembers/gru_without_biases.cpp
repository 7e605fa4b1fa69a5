// verdict: correct ok
// A gate without a bias, step by step.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, const float* h, const float* w, const float* u, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t h_0, int64_t h_1, int64_t w_0, int64_t w_1, int64_t u_0, int64_t u_1, int64_t out_0, int64_t out_1) {
  const int64_t D = x_2;
  std::vector<float> s(D), z(D);
  for (int64_t b = 0; b < x_0; ++b) {
    std::copy(h + b * D, h + (b + 1) * D, s.begin());
    for (int64_t t = 0; t < x_1; ++t) {
      const float* p = x + (b * x_1 + t) * D;
      for (int64_t d = 0; d < D; ++d) {
        float a = 0;
        for (int64_t e = 0; e < D; ++e) a += p[e] * w[e * D + d] + s[e] * u[e * D + d];
        z[d] = 1 / (1 + std::exp(-a));
      }
      for (int64_t d = 0; d < D; ++d) s[d] = (1 - z[d]) * s[d] + z[d] * std::tanh(p[d]);
    }
    std::copy(s.begin(), s.end(), out + b * D);
  }
}
