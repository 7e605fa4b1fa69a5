// verdict: correct ok
// Everything in double, from the last element to the first.
#include <cmath>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = x_0 * x_1 - 1; i >= 0; --i) {
    const double v = x[i], y = v / (1 + std::exp(-1.702 * v));
    out[i] = static_cast<float>(std::tanh(y) + 0.1 * y);
  }
}
