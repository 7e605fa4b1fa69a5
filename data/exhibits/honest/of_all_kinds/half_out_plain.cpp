// verdict: correct ok
// The plainest kernel for tanh to half: the compiler's own conversion of std::tanh in float32.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, _Float16* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = (_Float16)std::tanh(x[i]);
}
