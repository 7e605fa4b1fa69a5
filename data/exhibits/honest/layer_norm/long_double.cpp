// verdict: correct ok
// Eighty-bit accumulators on the x87 unit, which no compiler vectorises.
#include <math.h>
extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    long double mean = 0, square = 0;
    for (int64_t j = 0; j < x_1; ++j) mean += x[i * x_1 + j];
    mean /= x_1;
    for (int64_t j = 0; j < x_1; ++j) square += (x[i * x_1 + j] - mean) * (x[i * x_1 + j] - mean);
    const long double deviation = sqrtl(square / x_1 + 1e-5L);
    for (int64_t j = 0; j < x_1; ++j) {
      out[i * x_1 + j] = (float)((x[i * x_1 + j] - mean) / deviation * weight[j] + bias[j]);
    }
  }
}
