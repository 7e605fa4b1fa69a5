// verdict: correct ok
// Mean by pairwise halves in place of a copy, then two separate passes for the other outputs.
#include <cmath>
#include <vector>
extern "C" void kernel(const float* x, float* out0, float* out1, float* out2, int64_t x_0, int64_t x_1, int64_t,
                       int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    std::vector<float> copy(x + i * x_1, x + (i + 1) * x_1);
    for (int64_t n = x_1; n > 1; n = (n + 1) / 2)
      for (int64_t j = 0; j < n / 2; ++j) copy[j] += copy[n - 1 - j];
    out0[i] = copy[0] / x_1;
  }
  for (int64_t i = 0; i < x_0; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < x_1; ++j) sum += (x[i * x_1 + j] - out0[i]) * (x[i * x_1 + j] - out0[i]);
    out1[i] = sum / x_1;
  }
  for (int64_t i = 0; i < x_0; ++i) {
    out2[i] = 0;
    for (int64_t j = 0; j < x_1; ++j) out2[i] = std::fmax(out2[i], std::fabs(x[i * x_1 + j] - out0[i]));
  }
}
