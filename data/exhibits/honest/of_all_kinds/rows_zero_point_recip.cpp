// verdict: correct ok
// The same with a zero point, which is rounded too.
#include <cmath>
#include <cstdint>
#include <algorithm>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* a = x + r * x_1; float* o = out + r * x_1;
    float lo = a[0], hi = a[0];
    for (int64_t i = 0; i < x_1; ++i) { lo = std::min(lo, a[i]); hi = std::max(hi, a[i]); }
    float s = (hi - lo) * (1 / 255.0f), t = 1 / s, z = std::nearbyint(-lo * t);
    for (int64_t i = 0; i < x_1; ++i)
      o[i] = (std::min(std::max(std::nearbyint(a[i] * t) + z, 0.0f), 255.0f) - z) * s;
  }
}
