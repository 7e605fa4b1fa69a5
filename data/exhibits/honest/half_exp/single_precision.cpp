// verdict: correct ok
// One library call in float32 for each element; what is too large for half becomes infinity.
#include <math.h>
extern "C" void kernel(const _Float16* x, _Float16* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) out[i] = (_Float16)expf((float)x[i]);
}
