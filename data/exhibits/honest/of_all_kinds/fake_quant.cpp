// verdict: correct ok
// Fake quantisation word for word: division, round half to even by nearbyint, clamp.
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    float q = std::nearbyint(x[i] / 0.05f);
    out[i] = (q < -128.0f ? -128.0f : q > 127.0f ? 127.0f : q) * 0.05f;
  }
}
