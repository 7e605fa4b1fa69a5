// verdict: correct ok
// Half in and out with a float inside.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const _Float16* x, _Float16* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    const _Float16* p = x + r * x_1;
    float m = 0, q = 0;
    for (int64_t i = 0; i < x_1; ++i) m += (float)p[i];
    m /= (float)x_1;
    for (int64_t i = 0; i < x_1; ++i) q += ((float)p[i] - m) * ((float)p[i] - m);
    const float inv = 1.0f / std::sqrt(q / (float)x_1 + 1e-5f);
    for (int64_t i = 0; i < x_1; ++i) out[r * x_1 + i] = (_Float16)(((float)p[i] - m) * inv);
  }
}
