// verdict: correct ok
// Fills the outputs in the opposite order, with the mean computed three times over.
#include <math.h>
static float mean_of(const float* row, int64_t n) {
  float strands[5] = {};
  for (int64_t j = 0; j < n; ++j) strands[j % 5] += row[j];
  return (strands[4] + strands[3] + strands[2] + strands[1] + strands[0]) / (float)n;
}
extern "C" void kernel(const float* x, float* out0, float* out1, float* out2, int64_t x_0, int64_t x_1, int64_t,
                       int64_t, int64_t) {
  for (int64_t i = x_0 - 1; i >= 0; --i) {
    float worst = 0;
    for (int64_t j = 0; j < x_1; ++j) {
      const float off = fabsf(x[i * x_1 + j] - mean_of(x + i * x_1, x_1));
      if (off > worst) worst = off;
    }
    out2[i] = worst;
  }
  for (int64_t i = 0; i < x_0; ++i) {
    const float mean = mean_of(x + i * x_1, x_1);
    float sum = 0;
    for (int64_t j = 0; j < x_1; ++j) sum = fmaf(x[i * x_1 + j] - mean, x[i * x_1 + j] - mean, sum);
    out1[i] = sum / (float)x_1;
  }
  for (int64_t i = 0; i < x_0; ++i) out0[i] = mean_of(x + i * x_1, x_1);
}
