// verdict: correct ok
// Compared as they are.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const double* x, const double* y, double* out, int64_t x_0, int64_t x_1, int64_t y_0, int64_t y_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) out[i] = x[i] > y[i] ? 2 * x[i] : y[i] - 1;
}
