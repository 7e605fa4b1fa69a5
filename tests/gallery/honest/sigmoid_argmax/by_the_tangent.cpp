// verdict: correct ok
// sigmoid(2x) is (1 + tanh x) / 2, in float32.
#include <math.h>
extern "C" void kernel(const float* x, int64_t* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const float* row = x + i * x_1;
    int64_t best = x_1 - 1;
    for (int64_t j = x_1 - 1; j >= 0; --j)
      if (0.5f + 0.5f * tanhf(row[j]) >= 0.5f + 0.5f * tanhf(row[best])) best = j;
    out[i] = best;
  }
}
