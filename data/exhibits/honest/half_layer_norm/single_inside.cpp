// verdict: correct ok
// Float32 inside, rounded once.
#include <cmath>
extern "C" void kernel(const _Float16* x, _Float16* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const _Float16* row = x + i * x_1;
    float mean = 0, square = 0;
    for (int64_t j = 0; j < x_1; ++j) mean += (float)row[j];
    mean /= x_1;
    for (int64_t j = 0; j < x_1; ++j) square += ((float)row[j] - mean) * ((float)row[j] - mean);
    const float scale = 1 / std::sqrt(square / (x_1) + (float)1e-5);
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = (_Float16)(((float)row[j] - mean) * scale);
  }
}
