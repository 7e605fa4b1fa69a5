// verdict: correct ok
// As the module: exp without subtracting a maximum, in float32.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    float s = 0;
    for (int64_t i = 0; i < x_1; ++i) s += out[r * x_1 + i] = std::exp(x[r * x_1 + i]);
    for (int64_t i = 0; i < x_1; ++i) out[r * x_1 + i] /= s;
  }
}
