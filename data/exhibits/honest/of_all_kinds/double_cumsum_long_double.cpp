// verdict: correct ok
// Double data with a long double accumulator.
#include <cstdint>
extern "C" void kernel(const double* x, double* out, int64_t x_0, int64_t out_0) {
  long double s = 0;
  for (int64_t i = 0; i < x_0; ++i) out[i] = (double)(s += x[x_0 - 1 - i]);
}
