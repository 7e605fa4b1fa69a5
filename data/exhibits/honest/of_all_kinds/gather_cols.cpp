// verdict: correct ok
// Gather with std::transform and a capturing lambda.
#include <algorithm>
#include <cstdint>
extern "C" void kernel(const float* x, const int64_t* idx, float* out, int64_t x_0, int64_t x_1, int64_t idx_0, int64_t idx_1, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < idx_0; ++r) {
    const float* row = x + r * x_1;
    std::transform(idx + r * idx_1, idx + (r + 1) * idx_1, out + r * out_1, [row](int64_t i) { return row[i]; });
  }
}
