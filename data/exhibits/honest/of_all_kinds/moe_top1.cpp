// verdict: correct ok
// A discrete choice of expert: only the winner's matrix is multiplied; gate logits in double.
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, const float* w, const float* gate_weight, float* out, int64_t x_0, int64_t x_1, int64_t w_0, int64_t w_1, int64_t w_2, int64_t gate_weight_0, int64_t gate_weight_1, int64_t out_0, int64_t out_1) {
  const int64_t D = x_1, E = gate_weight_0;
  std::vector<double> z(E);
  for (int64_t b = 0; b < x_0; ++b) {
    const float* v = x + b * D;
    int64_t best = 0;
    for (int64_t e = 0; e < E; ++e) {
      z[e] = 0;
      for (int64_t d = 0; d < D; ++d) z[e] += (double)v[d] * gate_weight[e * D + d];
      if (z[e] > z[best]) best = e;
    }
    double s = 0;
    for (int64_t e = 0; e < E; ++e) s += std::exp(z[e] - z[best]);
    for (int64_t k = 0; k < D; ++k) {
      double a = 0;
      for (int64_t d = 0; d < D; ++d) a += (double)v[d] * w[(best * D + d) * D + k];
      out[b * D + k] = (float)(a / s);
    }
  }
}
