// verdict: correct ok
// Pure data movement in the order of the output with a running pointer.
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3) {
  float* o = out;
  for (int64_t b = 0; b < out_0; ++b)
    for (int64_t c = 0; c < out_1; ++c)
      for (int64_t i = 0; i < out_2; ++i)
        for (int64_t j = 0; j < out_3; ++j)
          *o++ = x[((b * x_1 + c * 4 + (i & 1) * 2 + (j & 1)) * x_2 + (i >> 1)) * x_3 + (j >> 1)];
}
