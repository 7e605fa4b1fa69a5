// verdict: correct ok
// Transposes into a vector in tiles of 16 by 16, then reduces rows.
#include <algorithm>
#include <cmath>
#include <vector>
extern "C" void kernel(const float* x, float* out0, float* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::vector<float> turned(x_0 * x_1);
  for (int64_t i = 0; i < x_0; i += 16)
    for (int64_t j = 0; j < x_1; j += 16)
      for (int64_t a = i; a < std::min(i + 16, x_0); ++a)
        for (int64_t b = j; b < std::min(j + 16, x_1); ++b) turned[b * x_0 + a] = x[a * x_1 + b];
  for (int64_t j = 0; j < x_1; ++j) {
    float sum = 0, peak = 0;
    for (int64_t i = 0; i < x_0; ++i) {
      sum += turned[j * x_0 + i];
      peak = std::fmax(peak, std::fabs(turned[j * x_0 + i]));
    }
    out0[j] = sum, out1[j] = peak;
  }
}
