// verdict: correct ok
// #pragma GCC optimize and unroll, restrict aliases, Estrin's order instead of Horner's.
#pragma GCC optimize("O3,unroll-loops")
#include <cstdint>
extern "C" void kernel(const double* x, double* out, int64_t x_0, int64_t out_0) {
  const double* __restrict__ p = x;
  double* __restrict__ o = out;
#pragma GCC unroll 4
  for (int64_t i = 0; i < x_0; ++i) {
    double t = p[i], t2 = t * t;
    o[i] = (1.0 + 0.5 * t) + t2 * (0.25 - 0.125 * t);
  }
}
