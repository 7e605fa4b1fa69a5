// verdict: correct ok
// Sums in double, the epsilon added to the deviation.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t B, int64_t D, int64_t, int64_t) {
  for (int64_t b = 0; b < B; ++b, x += D, out += D) {
    double m = 0, v = 0;
    for (int64_t i = 0; i < D; ++i) m += x[i];
    m /= D;
    for (int64_t i = 0; i < D; ++i) v += (x[i] - m) * (x[i] - m);
    const double size = std::sqrt(v / (D - 1));
    for (int64_t i = 0; i < D; ++i) out[i] = (x[i] - m) / (size + 1e-6);
  }
}
