// verdict: correct ok
// Compensated summation, with the compensations in thread-local scratch.
#include <algorithm>
#include <cmath>
#include <vector>
extern "C" void kernel(const float* x, float* out0, float* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  thread_local std::vector<float> lost;
  lost.assign(x_1, 0.0f);
  std::fill_n(out0, x_1, 0.0f);
  std::fill_n(out1, x_1, 0.0f);
  for (int64_t i = 0; i < x_0; ++i) {
    for (int64_t j = 0; j < x_1; ++j) {
      const float value = x[i * x_1 + j] - lost[j], sum = out0[j] + value;
      lost[j] = (sum - out0[j]) - value;
      out0[j] = sum;
      out1[j] = std::max(out1[j], std::fabs(x[i * x_1 + j]));
    }
  }
}
