// verdict: correct ok
// Exp by range reduction, a polynomial and exponent bits put in by memcpy (accurate to about 1 ulp of float).
#include <cmath>
#include <cstdint>
#include <cstring>
static inline float fast_exp(float v) {
  if (!(v > -87.0f)) return std::exp(v);
  double t = v * 1.4426950408889634, k = std::floor(t + 0.5), f = (t - k) * 0.6931471805599453;
  double p = 1 + f * (1 + f * (1.0 / 2 + f * (1.0 / 6 + f * (1.0 / 24 + f * (1.0 / 120 + f * (1.0 / 720 + f / 5040))))));
  uint64_t bits = (uint64_t)((int64_t)k + 1023) << 52;
  double two_k;
  std::memcpy(&two_k, &bits, 8);
  return (float)(p * two_k);
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = fast_exp(-4.0f * x[i] * x[i]);
}
