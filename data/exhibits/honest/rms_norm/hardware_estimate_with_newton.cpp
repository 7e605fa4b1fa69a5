// verdict: correct ok
// The processor's twelve-bit estimate of 1/√v and two Newton steps; a library root elsewhere.
#include <math.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif
static float inverse_root(float v) {
#if defined(__SSE__)
  float y = _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(v)));
  y = y * (1.5f - 0.5f * v * y * y);
  return y * (1.5f - 0.5f * v * y * y);
#else
  return 1.0f / sqrtf(v);
#endif
}
extern "C" void kernel(const float* x, const float* gain, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const float* row = x + i * x_1;
    float square = 0;
    for (int64_t j = 0; j < x_1; ++j) square += row[j] * row[j];
    const float scale = inverse_root(square / x_1 + 1e-5f);
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = row[j] * scale * gain[j];
  }
}
