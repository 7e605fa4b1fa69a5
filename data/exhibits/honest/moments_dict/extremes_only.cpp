// verdict: correct ok
// The largest deviation is that of the row's minimum or maximum: no pass over deviations.
#include <algorithm>
extern "C" void kernel(const float* x, float* out0, float* out1, float* out2, int64_t x_0, int64_t x_1, int64_t,
                       int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i, x += x_1) {
    const auto [low, high] = std::minmax_element(x, x + x_1);
    double sum = 0, square = 0;
    for (int64_t j = 0; j < x_1; ++j) sum += x[j], square += double(x[j]) * x[j];
    const double mean = sum / x_1;
    out0[i] = float(mean);
    out1[i] = float(square / x_1 - mean * mean);
    out2[i] = float(std::max(*high - mean, mean - *low));
  }
}
