// verdict: correct ok
// Tanh in float32 to half by the compiler, 400000 values.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, _Float16* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = (_Float16)std::tanh(x[i]);
}
