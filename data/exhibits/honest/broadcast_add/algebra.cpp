// verdict: correct ok
// (x + r)·c − r is computed as x·c + r·(c − 1), by fused multiply-adds.
#include <cmath>
extern "C" void kernel(const float* x, const float* row, const float* column, float* out, int64_t x_0,
                       int64_t x_1, int64_t x_2, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t r = 0; r < x_1; ++r) {
    const float c = column[r];
    for (int64_t d = 0; d < x_0; ++d) {
      const int64_t start = (d * x_1 + r) * x_2;
      for (int64_t k = 0; k < x_2; ++k) out[start + k] = std::fma(x[start + k], c, row[k] * (c - 1.0f));
    }
  }
}
