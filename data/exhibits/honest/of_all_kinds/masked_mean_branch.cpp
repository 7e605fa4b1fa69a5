// verdict: correct ok
// Branches on a bool mask; a row without true divides zero by zero as the module does.
#include <cstdint>
extern "C" void kernel(const float* x, const bool* mask, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t mask_0, int64_t mask_1, int64_t out_0, int64_t out_1) {
  for (int64_t b = 0; b < x_0; ++b) {
    float n = 0;
    for (int64_t s = 0; s < x_1; ++s) n += mask[b * x_1 + s];
    for (int64_t d = 0; d < x_2; ++d) {
      float a = 0;
      for (int64_t s = 0; s < x_1; ++s)
        if (mask[b * x_1 + s]) a += x[(b * x_1 + s) * x_2 + d];
      out[b * x_2 + d] = a / n;
    }
  }
}
