// verdict: correct ok
// Std::sort of (value, index) pairs; equal values come in any order, as torch.sort without stable allows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>
extern "C" void kernel(const float* x, float* out0, int64_t* out1, int64_t x_0, int64_t x_1, int64_t out0_0, int64_t out0_1, int64_t out1_0, int64_t out1_1) {
  std::vector<std::pair<float, int64_t>> v(x_1);
  for (int64_t r = 0; r < x_0; ++r) {
    for (int64_t i = 0; i < x_1; ++i) v[i] = {x[r * x_1 + i], i};
    std::sort(v.begin(), v.end(), [](const auto& a, const auto& b) {
      return std::isnan(a.first) ? !std::isnan(b.first) : a.first > b.first;
    });
    for (int64_t i = 0; i < x_1; ++i) { out0[r * x_1 + i] = v[i].first; out1[r * x_1 + i] = v[i].second; }
  }
}
