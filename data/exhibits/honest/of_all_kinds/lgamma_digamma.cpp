// verdict: correct ok
// Digamma by recurrence and asymptotic series in double.
#include <cmath>
#include <cstdint>
static double digamma(double v) {
  double r = 0;
  for (; v < 8; v += 1) r -= 1 / v;
  double f = 1 / (v * v);
  return r + std::log(v) - 0.5 / v - f * (1.0 / 12 - f * (1.0 / 120 - f * (1.0 / 252 - f * (1.0 / 240 - f / 132))));
}
extern "C" void kernel(const float* x, float* out0, float* out1, int64_t x_0, int64_t out0_0, int64_t out1_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    double a = (x[i] > 20 ? (double)x[i] : std::log1p(std::exp((double)x[i]))) + 0.1;
    out0[i] = (float)std::lgamma(a);
    out1[i] = (float)digamma(a);
  }
}
