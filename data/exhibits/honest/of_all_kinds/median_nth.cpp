// verdict: correct ok
// Std::nth_element on a thread_local copy; a row with a NaN gives NaN.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  thread_local std::vector<float> t;
  for (int64_t r = 0; r < x_0; ++r) {
    t.assign(x + r * x_1, x + (r + 1) * x_1);
    if (std::any_of(t.begin(), t.end(), [](float v) { return std::isnan(v); })) { out[r] = NAN; continue; }
    auto mid = t.begin() + (x_1 - 1) / 2;
    std::nth_element(t.begin(), mid, t.end());
    out[r] = *mid;
  }
}
