// verdict: correct ok
// SSE rsqrt estimate with two Newton steps; eight partial sums.
#include <cstdint>
#include <immintrin.h>
static inline float rsqrt_(float v) {
  float y = _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(v)));
  y = y * (1.5f - 0.5f * v * y * y);
  return y * (1.5f - 0.5f * v * y * y);
}
extern "C" void kernel(const float* x, const float* g, float* out, int64_t x_0, int64_t x_1, int64_t g_0, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* p = x + r * x_1;
    float a[8] = {};
    for (int64_t i = 0; i < x_1; ++i) a[i & 7] += p[i] * p[i];
    float s = ((a[0] + a[4]) + (a[1] + a[5])) + ((a[2] + a[6]) + (a[3] + a[7]));
    float inv = rsqrt_(s / (float)x_1 + 1e-6f);
    for (int64_t i = 0; i < x_1; ++i) out[r * x_1 + i] = p[i] * inv * g[i];
  }
}
