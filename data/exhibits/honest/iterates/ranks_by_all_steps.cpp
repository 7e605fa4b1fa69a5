// verdict: correct ok
// All hundred steps.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* links, const float* r, float* out, int64_t links_0, int64_t links_1, int64_t links_2, int64_t r_0, int64_t r_1, int64_t out_0, int64_t out_1) {
  const int steps = 100;
  const int64_t n = r_1;
  std::vector<float> p(n * n), u(n), w(n);
  for (int64_t b = 0; b < r_0; ++b) {
    for (int64_t j = 0; j < n; ++j) {
      float s = 0;
      for (int64_t i = 0; i < n; ++i) s += links[(b * n + i) * n + j];
      for (int64_t i = 0; i < n; ++i) p[i * n + j] = links[(b * n + i) * n + j] / s;
    }
    std::copy(r + b * n, r + (b + 1) * n, u.begin());
    for (int step = 0; step < steps; ++step) {
      for (int64_t i = 0; i < n; ++i) {
        float z = 0;
        for (int64_t j = 0; j < n; ++j) z += p[i * n + j] * u[j];
        w[i] = 0.85f * z + 0.15f / n;
      }
      u.swap(w);
    }
    std::copy(u.begin(), u.end(), out + b * n);
  }
}
