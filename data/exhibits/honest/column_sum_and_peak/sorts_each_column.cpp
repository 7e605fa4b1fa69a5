// verdict: correct ok
// Sorts each column by magnitude: the last one is the peak, and the sum goes from small to large.
#include <algorithm>
#include <cmath>
#include <vector>
extern "C" void kernel(const float* x, float* out0, float* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::vector<float> column(x_0);
  for (int64_t j = 0; j < x_1; ++j) {
    for (int64_t i = 0; i < x_0; ++i) column[i] = x[i * x_1 + j];
    std::sort(column.begin(), column.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    out0[j] = 0;
    for (float one : column) out0[j] += one;
    out1[j] = std::fabs(column.back());
  }
}
