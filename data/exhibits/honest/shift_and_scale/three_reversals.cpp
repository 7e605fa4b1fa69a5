// verdict: correct ok
// Rotates by reversing both parts and then the whole, in the output itself; alpha stays a double.
#include <algorithm>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t, int64_t steps,
                       double alpha, bool flip) {
  const int64_t by = ((steps % x_1) + x_1) % x_1;
  for (int64_t i = 0; i < x_0; ++i) {
    float *first = out + i * x_1, *last = first + x_1;
    std::transform(x + i * x_1, x + (i + 1) * x_1, first, [alpha](float v) { return float(v * alpha); });
    std::reverse(first, last);
    std::reverse(first, first + by);
    std::reverse(first + by, last);
    if (flip) std::reverse(first, last);
  }
}
