// verdict: correct ok
// All steps of a recurrent layer, in float32.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
static float sigmoid(float v) { return 1 / (1 + std::exp(-v)); }
extern "C" void kernel(const float* x, const float* wi, const float* wh, const float* bi, const float* bh, float* out, int64_t B, int64_t T, int64_t D, int64_t G, int64_t, int64_t, int64_t H, int64_t, int64_t, int64_t, int64_t) {
  std::vector<float> h(H), c(H), a(G), r(G);
  for (int64_t b = 0; b < B; ++b) {
    std::fill(h.begin(), h.end(), 0.f);
    std::fill(c.begin(), c.end(), 0.f);
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t g = 0; g < G; ++g) {
        a[g] = bi[g];
        r[g] = bh[g];
        for (int64_t i = 0; i < D; ++i) a[g] += wi[g * D + i] * x[(b * T + t) * D + i];
        for (int64_t i = 0; i < H; ++i) r[g] += wh[g * H + i] * h[i];
      }
      for (int64_t i = 0; i < H; ++i) {
        h[i] = std::tanh(a[i] + r[i]);
      }
    }
    std::copy(h.begin(), h.end(), out + b * H);
  }
}
