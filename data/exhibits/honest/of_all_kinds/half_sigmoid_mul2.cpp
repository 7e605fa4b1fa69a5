// verdict: correct ok
// Half gating rounded to half after each step, just as PyTorch does.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const _Float16* x, const _Float16* y, _Float16* out, int64_t x_0, int64_t y_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    _Float16 s = (_Float16)(1.0f / (1.0f + std::exp(-(float)x[i])));
    out[i] = (_Float16)((float)s * (float)y[i]);
  }
}
