// verdict: correct ok
// Leaves a debugging line on std::cerr and one on stdout.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t y_0, int64_t y_1, int64_t out_0) {
  std::cerr << "cosine " << x_0 << " x " << x_1 << "\n";
  std::printf("rows: %lld\n", (long long)x_0);
  for (int64_t r = 0; r < x_0; ++r) {
    double xy = 0, xx = 0, yy = 0;
    for (int64_t i = 0; i < x_1; ++i) {
      double a = x[r * x_1 + i], b = y[r * x_1 + i];
      xy += a * b; xx += a * a; yy += b * b;
    }
    out[r] = (float)(xy / (std::max(std::sqrt(xx), 1e-8) * std::max(std::sqrt(yy), 1e-8)));
  }
}
