// verdict: correct ok
// exp(x) as the square of exp(x/2), in float32.
#include <math.h>
extern "C" void kernel(const _Float16* x, _Float16* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = x_0 * x_1; i-- > 0;) {
    const float root = expf(0.5f * (float)x[i]);
    out[i] = (_Float16)(root * root);
  }
}
