// verdict: correct ok
// Walks down the columns, with the maxima and sums of all rows in static scratch that grows.
#include <algorithm>
#include <cmath>
#include <vector>
static std::vector<float> peaks, sums;
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  peaks.assign(x_0, -INFINITY);
  sums.assign(x_0, 0.0f);
  for (int64_t j = 0; j < x_1; ++j)
    for (int64_t i = 0; i < x_0; ++i) peaks[i] = std::max(peaks[i], x[i * x_1 + j]);
  for (int64_t j = 0; j < x_1; ++j)
    for (int64_t i = 0; i < x_0; ++i) sums[i] += out[i * x_1 + j] = std::exp(x[i * x_1 + j] - peaks[i]);
  for (int64_t j = 0; j < x_1; ++j)
    for (int64_t i = 0; i < x_0; ++i) out[i * x_1 + j] /= sums[i];
}
