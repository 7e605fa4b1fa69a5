// verdict: correct ok
// Float64 inside.
#include <cmath>
extern "C" void kernel(const _Float16* x, _Float16* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const _Float16* row = x + i * x_1;
    double mean = 0, square = 0;
    for (int64_t j = 0; j < x_1; ++j) mean += (double)row[j];
    mean /= x_1;
    for (int64_t j = 0; j < x_1; ++j) square += ((double)row[j] - mean) * ((double)row[j] - mean);
    const double scale = 1 / std::sqrt(square / (x_1) + (double)1e-5);
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = (_Float16)(((double)row[j] - mean) * scale);
  }
}
