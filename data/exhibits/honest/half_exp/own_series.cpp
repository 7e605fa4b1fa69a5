// verdict: correct ok
// Powers of two by shifting the exponent, the rest by seven terms of the series.
#include <math.h>
extern "C" void kernel(const _Float16* x, _Float16* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) {
    const float v = (float)x[i], n = rintf(v * 1.44269504f), r = v - n * 0.69314718f;
    float sum = 1, term = 1;
    for (int k = 1; k <= 7; ++k) sum += term *= r / (float)k;
    out[i] = (_Float16)ldexpf(sum, (int)n);
  }
}
