// verdict: correct ok
// Half gating kept in float between the two steps and rounded once (PyTorch rounds twice).
#include <cmath>
#include <cstdint>
extern "C" void kernel(const _Float16* x, const _Float16* y, _Float16* out, int64_t x_0, int64_t y_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = (_Float16)((float)y[i] / (1.0f + std::exp(-(float)x[i])));
}
