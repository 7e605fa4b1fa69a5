// verdict: correct ok
// 0/1 float mask used as a multiplier, count clamped at one.
#include <algorithm>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, const float* mask, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t mask_0, int64_t mask_1, int64_t out_0, int64_t out_1) {
  std::vector<double> acc(x_2);
  for (int64_t b = 0; b < x_0; ++b) {
    double n = 0;
    std::fill(acc.begin(), acc.end(), 0.0);
    for (int64_t s = 0; s < x_1; ++s) {
      float w = mask[b * x_1 + s];
      n += w;
      for (int64_t d = 0; d < x_2; ++d) acc[d] += x[(b * x_1 + s) * x_2 + d] * w;
    }
    for (int64_t d = 0; d < x_2; ++d) out[b * x_2 + d] = (float)(acc[d] / std::max(n, 1.0));
  }
}
