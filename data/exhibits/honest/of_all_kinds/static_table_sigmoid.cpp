// verdict: correct ok
// Exp from a 4096-entry table of 2^(i/4096) built once by a static object's constructor, then a cubic for the rest.
#include <cmath>
#include <cstdint>
struct Table { double t[4096]; Table() { for (int i = 0; i < 4096; ++i) t[i] = std::exp2(i / 4096.0); } };
static const Table tab;
static inline double exp_(double v) {
  double s = v * 1.4426950408889634 * 4096, k = std::floor(s);
  double f = (s - k) * (0.6931471805599453 / 4096);
  int64_t n = (int64_t)k;
  return std::ldexp(tab.t[n & 4095], (int)(n >> 12)) * (1 + f * (1 + f * (0.5 + f / 6)));
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    float v = x[i];
    if (std::isnan(v)) out[i] = v;
    else if (v > 40) out[i] = 1.0f;
    else if (v < -104) out[i] = 0.0f;
    else out[i] = (float)(1.0 / (1.0 + exp_(-(double)v)));
  }
}
