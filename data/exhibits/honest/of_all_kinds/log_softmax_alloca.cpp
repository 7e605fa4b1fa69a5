// verdict: correct ok
// Softmax down the columns with per-column maxima and sums in alloca memory.
#include <alloca.h>
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  float* m = (float*)alloca(sizeof(float) * x_1);
  float* s = (float*)alloca(sizeof(float) * x_1);
  for (int64_t j = 0; j < x_1; ++j) { m[j] = x[j]; s[j] = 0; }
  for (int64_t i = 1; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) m[j] = x[i * x_1 + j] > m[j] ? x[i * x_1 + j] : m[j];
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) s[j] += std::exp(x[i * x_1 + j] - m[j]);
  for (int64_t j = 0; j < x_1; ++j) s[j] = std::log(s[j]);
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = x[i * x_1 + j] - m[j] - s[j];
}
