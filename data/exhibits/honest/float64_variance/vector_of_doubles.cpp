// verdict: correct ok
// Four doubles at a time by vector_size, loaded with unaligned copies, one pass of raw moments.
#include <string.h>
typedef double lanes __attribute__((vector_size(32)));
extern "C" void kernel(const double* x, double* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const double* row = x + i * x_1;
    lanes sum = {}, square = {};
    for (int64_t j = 0; j < x_1; j += 4) {
      lanes v = {};
      memcpy(&v, row + j, (x_1 - j < 4 ? x_1 - j : 4) * sizeof(double));
      sum += v;
      square += v * v;
    }
    const double s = (sum[0] + sum[2]) + (sum[1] + sum[3]), q = (square[3] + square[1]) + (square[2] + square[0]);
    out[i] = q / x_1 - (s / x_1) * (s / x_1);
  }
}
