// verdict: correct ok
// A goto loop and branchless bit ands on bool.
#include <cstdint>
extern "C" void kernel(const float* x, const float* y, bool* out, int64_t x_0, int64_t x_1, int64_t y_0, int64_t y_1, int64_t out_0, int64_t out_1) {
  const int64_t n = x_0 * x_1;
  int64_t i = 0;
again:
  if (i >= n) goto done;
  out[i] = (int)(x[i] > y[i]) & (int)(x[i] > 0.0f);
  ++i;
  goto again;
done:
  return;
}
