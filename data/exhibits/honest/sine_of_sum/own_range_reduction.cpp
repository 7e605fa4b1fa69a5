// verdict: correct ok
// Reduces by multiples of π/2 in two parts, then uses short polynomials for sine and cosine.
#include <math.h>
static float own_sine(float v) {
  const float n = rintf(v * 0.636619772f);
  const float r = fmaf(n, -7.54978942e-8f, fmaf(n, -1.57079625f, v)), s = r * r;
  const float sine = r + r * s * (-0.166666546f + s * (0.00833216087f - s * 0.000195152956f));
  const float cosine = 1 - 0.5f * s + s * s * (0.0416666456f + s * (-0.00138873162f + s * 2.44331571e-5f));
  const int quadrant = (int)n & 3;
  const float value = quadrant & 1 ? cosine : sine;
  return quadrant & 2 ? -value : value;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    float even = 0, odd = 0;
    for (int64_t j = 0; j < x_1; ++j) (j & 1 ? odd : even) += x[i * x_1 + j];
    out[i] = own_sine(10 * (even + odd));
  }
}
