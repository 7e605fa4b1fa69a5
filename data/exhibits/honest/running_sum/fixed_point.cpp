// verdict: correct ok
// Sums 64-bit integers in units of 2⁻⁴⁰: exact within the range of these inputs, in any order.
#include <math.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    int64_t sum = 0;
    for (int64_t j = 0; j < x_1; ++j) {
      sum += llrint(ldexp((double)x[i * x_1 + j], 40));
      out[i * x_1 + j] = (float)ldexp((double)sum, -40);
    }
  }
}
