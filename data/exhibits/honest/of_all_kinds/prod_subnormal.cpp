// verdict: correct ok
// Products of 90 factors, about 1e-39: normal, subnormal and zero results, float32 loop.
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (int64_t r = 0; r < x_0; ++r) {
    float p = 1;
    for (int64_t i = 0; i < x_1; ++i) p *= x[r * x_1 + i];
    out[r] = p;
  }
}
