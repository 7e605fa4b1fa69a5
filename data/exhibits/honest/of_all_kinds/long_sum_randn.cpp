// verdict: correct ok
// A dot product of 131072 signed terms that cancel, by one plain float32 loop from the end to the start.
#include <cstdint>
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t y_0) {
  float s = 0;
  for (int64_t i = x_0; i-- > 0;) s += x[i] * y[i];
  *out = s;
}
