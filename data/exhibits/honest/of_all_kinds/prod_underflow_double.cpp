// verdict: correct ok
// The same underflowing product in double, rounded to float32 at the end.
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (int64_t r = 0; r < x_0; ++r) {
    double p = 1;
    for (int64_t i = 0; i < x_1; ++i) p *= x[r * x_1 + i];
    out[r] = (float)p;
  }
}
