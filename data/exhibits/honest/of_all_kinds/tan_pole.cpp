// verdict: correct ok
// Passes through the poles of the tangent, where the sign jumps.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) { float t = std::tan(x[i]); out[i] = t / (1.0f + std::fabs(t)); }
}
