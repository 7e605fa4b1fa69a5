// verdict: correct ok
// Error-free products and sums (Dot2 of Ogita, Rump and Oishi) in float32.
#include <math.h>
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t) {
  float high = 0, low = 0;
  for (int64_t i = 0; i < x_0; ++i) {
    const float p = x[i] * y[i], e = fmaf(x[i], y[i], -p), s = high + p, z = s - high;
    low += ((high - (s - z)) + (p - z)) + e;
    high = s;
  }
  *out = high + low;
}
