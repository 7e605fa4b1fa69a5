// verdict: correct ok
// Batch statistics by Chan's merging of per-sample means and squares, float32.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* bn_weight, const float* bn_bias, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t bn_weight_0, int64_t bn_bias_0, int64_t out_0, int64_t out_1, int64_t out_2) {
  for (int64_t c = 0; c < x_1; ++c) {
    float n = 0, mean = 0, m2 = 0;
    for (int64_t b = 0; b < x_0; ++b) {
      const float* p = x + (b * x_1 + c) * x_2;
      float s = 0, q = 0, k = (float)x_2;
      for (int64_t i = 0; i < x_2; ++i) s += p[i];
      s /= k;
      for (int64_t i = 0; i < x_2; ++i) q += (p[i] - s) * (p[i] - s);
      float d = s - mean;
      m2 += q + d * d * n * k / (n + k);
      mean += d * k / (n + k);
      n += k;
    }
    const float inv = bn_weight[c] / std::sqrt(m2 / n + 1e-5f);
    for (int64_t b = 0; b < x_0; ++b)
      for (int64_t i = 0; i < x_2; ++i) {
        int64_t j = (b * x_1 + c) * x_2 + i;
        out[j] = (x[j] - mean) * inv + bn_bias[c];
      }
  }
}
