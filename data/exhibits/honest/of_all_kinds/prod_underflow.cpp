// verdict: correct ok
// Product of 400 factors that underflows, in float32 with four interleaved partial products.
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* p = x + r * x_1;
    float a[4] = {1, 1, 1, 1};
    for (int64_t i = 0; i < x_1; ++i) a[i & 3] *= p[i];
    out[r] = a[0] * a[1] * (a[2] * a[3]);
  }
}
