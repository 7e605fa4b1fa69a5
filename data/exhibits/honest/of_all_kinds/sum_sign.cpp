// verdict: correct ok
// The sign of a float32 sum as a bool, summed from the end.
#include <cstdint>
extern "C" void kernel(const float* x, bool* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (int64_t r = 0; r < x_0; ++r) {
    float s = 0;
    for (int64_t i = x_1; i-- > 0;) s += x[r * x_1 + i];
    out[r] = s > 0;
  }
}
