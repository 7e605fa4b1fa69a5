// verdict: correct ok
// Two-pass group norm on a copy of each group in std::aligned_alloc memory.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
extern "C" void kernel(const float* x, const float* gn_weight, const float* gn_bias, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t gn_weight_0, int64_t gn_bias_0, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3) {
  const int64_t G = 4, CG = x_1 / G, HW = x_2 * x_3, n = CG * HW;
  float* t = (float*)std::aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);
  for (int64_t b = 0; b < x_0 * G; ++b) {
    std::memcpy(t, x + b * n, n * sizeof(float));
    double mean = 0, var = 0;
    for (int64_t i = 0; i < n; ++i) mean += t[i];
    mean /= n;
    for (int64_t i = 0; i < n; ++i) var += (t[i] - mean) * (t[i] - mean);
    const float inv = (float)(1.0 / std::sqrt(var / n + 1e-5));
    for (int64_t i = 0; i < n; ++i) {
      int64_t c = b % G * CG + i / HW;
      float y = (t[i] - (float)mean) * inv * gn_weight[c] + gn_bias[c];
      out[b * n + i] = y / (1.0f + std::exp(-y));
    }
  }
  std::free(t);
}
