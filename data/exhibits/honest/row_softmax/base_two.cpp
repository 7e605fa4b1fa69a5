// verdict: correct ok
// Powers of two instead of e, with the logarithm folded into the input.
#include <math.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  const float log2e = 1.44269504088896341f;
  float* row = static_cast<float*>(__builtin_alloca(x_1 * sizeof(float)));
  for (int64_t i = 0; i < x_0; ++i) {
    float peak = -HUGE_VALF, sum = 0;
    for (int64_t j = 0; j < x_1; ++j) peak = fmaxf(peak, row[j] = x[i * x_1 + j] * log2e);
    for (int64_t j = 0; j < x_1; ++j) sum += row[j] = exp2f(row[j] - peak);
    const float scale = 1.0f / sum;
    for (int64_t j = x_1; j-- > 0;) out[i * x_1 + j] = row[j] * scale;
  }
}
