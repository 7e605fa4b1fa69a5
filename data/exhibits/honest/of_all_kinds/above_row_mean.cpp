// verdict: correct ok
// The mean is a plain loop's, so values beside it may lie on either side.
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* a = x + r * x_1; float* o = out + r * x_1;
    float m = 0;
    for (int64_t i = 0; i < x_1; ++i) m += a[i];
    m /= x_1;
    for (int64_t i = 0; i < x_1; ++i) o[i] = a[i] > m ? a[i] : 0;
  }
}
