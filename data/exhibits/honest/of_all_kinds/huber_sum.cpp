// verdict: correct ok
// Two scalar outputs with a float scalar argument; plain float32 sum.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* a, const float* b, float* out0, float* out1, int64_t a_0, int64_t b_0, double delta) {
  const float dl = (float)delta;
  float s = 0, m = -1;
  for (int64_t i = 0; i < a_0; ++i) {
    float d = std::fabs(a[i] - b[i]);
    s += d < dl ? 0.5f * d * d : dl * (d - 0.5f * dl);
    if (!(d <= m)) m = std::isnan(m) ? m : d;
  }
  *out0 = s;
  *out1 = m;
}
