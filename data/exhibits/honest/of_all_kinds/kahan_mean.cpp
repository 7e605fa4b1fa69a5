// verdict: correct ok
// Kahan summation per row.
#include <cstdint>
struct Kahan {
  float s = 0, c = 0;
  void add(float v) { float y = v - c, t = s + y; c = (t - s) - y; s = t; }
};
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (int64_t r = 0; r < x_0; ++r) {
    Kahan k;
    for (int64_t i = 0; i < x_1; ++i) k.add(x[r * x_1 + i]);
    out[r] = k.s / (float)x_1;
  }
}
