// verdict: correct ok
// Int32 arithmetic that wraps, done in uint32_t to be free of undefined behaviour.
#include <cstdint>
extern "C" void kernel(const int32_t* x, int32_t* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    uint32_t s = 0;
    for (int64_t i = 0; i < x_1; ++i) {
      s += (uint32_t)x[r * x_1 + i] * 1103515245u + 12345u;
      out[r * x_1 + i] = (int32_t)s;
    }
  }
}
