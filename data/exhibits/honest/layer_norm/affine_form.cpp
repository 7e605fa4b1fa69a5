// verdict: correct ok
// y = x·a + b with a and b of each row and column computed first, as a compiler would fold it.
#include <cmath>
#include <numeric>
#include <vector>
extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t, int64_t, int64_t, int64_t) {
  std::vector<float> a(x_1), b(x_1);
  for (int64_t i = 0; i < x_0; ++i, x += x_1, out += x_1) {
    const float mean = std::accumulate(x, x + x_1, 0.0f) / x_1;
    const float variance = std::accumulate(x, x + x_1, 0.0f, [mean](float sum, float v) {
                             return sum + (v - mean) * (v - mean);
                           }) / x_1;
    const float scale = 1 / std::sqrt(variance + 1e-5f);
    for (int64_t j = 0; j < x_1; ++j) a[j] = scale * weight[j], b[j] = bias[j] - mean * a[j];
    for (int64_t j = 0; j < x_1; ++j) out[j] = x[j] * a[j] + b[j];
  }
}
