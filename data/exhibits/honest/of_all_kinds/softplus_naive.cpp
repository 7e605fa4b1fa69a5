// verdict: correct ok
// Naive softplus log(1 + exp(x)) in float32, with PyTorch's threshold 20.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = x[i] > 20.0f ? x[i] : std::log(1.0f + std::exp(x[i]));
}
