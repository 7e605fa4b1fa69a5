// verdict: correct ok
// Tensors of lists and dicts come one by one, and None is no output.
#include <cstdint>
extern "C" void kernel(const float* x, const float* weights_0, const float* weights_1,
                       const float* more_scale, float* out0, float* out1, int64_t tokens, int64_t width,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t) {
  for (int64_t i = 0; i < tokens * width; ++i) {
    out0[i] = x[i] * weights_0[i % width] + weights_1[i % width];
    out1[i] = out0[i] * more_scale[i / width];
  }
}
