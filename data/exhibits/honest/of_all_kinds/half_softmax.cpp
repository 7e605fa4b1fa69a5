// verdict: correct ok
// Half softmax, float inside, multiplied by the reciprocal of the sum.
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const _Float16* x, _Float16* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  std::vector<float> e(x_1);
  for (int64_t r = 0; r < x_0; ++r) {
    float m = (float)x[r * x_1], s = 0;
    for (int64_t i = 0; i < x_1; ++i) m = std::fmax(m, (float)x[r * x_1 + i]);
    for (int64_t i = 0; i < x_1; ++i) s += e[i] = std::exp((float)x[r * x_1 + i] - m);
    const float inv = 1.0f / s;
    for (int64_t i = 0; i < x_1; ++i) out[r * x_1 + i] = (_Float16)(e[i] * inv);
  }
}
