// verdict: correct ok
// GELU through erf in double, template over the scalar type.
#include <cmath>
#include <cstdint>
template <class T> static T gelu(T v) { return T(0.5) * v * (T(1) + std::erf(v * T(0.70710678118654752440))); }
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) out[i] = (float)gelu<double>(x[i]);
}
