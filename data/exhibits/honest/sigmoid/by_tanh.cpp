// verdict: correct ok
// By the tangent.
#include <cmath>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) out[i] = 0.5f * std::tanh(0.5f * x[i]) + 0.5f;
}
