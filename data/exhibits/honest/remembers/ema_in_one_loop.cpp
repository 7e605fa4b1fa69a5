// verdict: correct ok
// One loop over all steps.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t out_0, int64_t out_1, int64_t out_2) {
  const int64_t steps = x_1;
  for (int64_t b = 0; b < x_0; ++b)
    for (int64_t d = 0; d < x_2; ++d)
      for (int64_t start = 0; start < x_1; start += steps) {
        float h = 0;
        for (int64_t t = std::max<int64_t>(0, start - 0); t < std::min(start + steps, x_1); ++t) {
          h = 0.5f * x[(b * x_1 + t) * x_2 + d] + 0.5f * h;
          if (t >= start) out[(b * x_1 + t) * x_2 + d] = h;
        }
      }
}
