// verdict: correct ok
// 131072 terms added by one plain float32 loop.
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0) {
  float s = 0;
  for (int64_t i = 0; i < x_0; ++i) s += x[i];
  *out = s;
}
