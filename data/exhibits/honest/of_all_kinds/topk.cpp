// verdict: correct ok
// Std::partial_sort of an index vector, lowest index first among equals, NaN greatest.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>
extern "C" void kernel(const float* x, float* out0, int64_t* out1, int64_t x_0, int64_t x_1, int64_t out0_0, int64_t out0_1, int64_t out1_0, int64_t out1_1) {
  const int64_t N = x_1, K = out0_1;
  std::vector<int64_t> id(N);
  for (int64_t r = 0; r < x_0; ++r) {
    const float* p = x + r * N;
    std::iota(id.begin(), id.end(), 0);
    std::partial_sort(id.begin(), id.begin() + K, id.end(), [p](int64_t a, int64_t b) {
      bool na = std::isnan(p[a]), nb = std::isnan(p[b]);
      if (na || nb) return na && (!nb || a < b);
      return p[a] != p[b] ? p[a] > p[b] : a < b;
    });
    for (int64_t k = 0; k < K; ++k) { out0[r * K + k] = p[id[k]]; out1[r * K + k] = id[k]; }
  }
}
