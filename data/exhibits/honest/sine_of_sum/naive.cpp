// verdict: correct ok
// A float32 sum from left to right: its rounding is multiplied by ten before the sine.
#include <math.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < x_1; ++j) sum += x[i * x_1 + j];
    out[i] = sinf(10 * sum);
  }
}
