// verdict: correct ok
// The module takes exp without a maximum; the kernel subtracts it (more robust than the module).
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t r = 0; r < x_0; ++r) {
    const float* p = x + r * x_1;
    float* o = out + r * x_1;
    float m = p[0], s = 0;
    for (int64_t i = 1; i < x_1; ++i) m = p[i] > m ? p[i] : m;
    for (int64_t i = 0; i < x_1; ++i) s += o[i] = std::exp(p[i] - m);
    for (int64_t i = 0; i < x_1; ++i) o[i] /= s;
  }
}
