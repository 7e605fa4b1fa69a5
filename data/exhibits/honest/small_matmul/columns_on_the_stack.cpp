// verdict: correct ok
// Copies one column of b at a time into memory from alloca, and takes dot products in strands.
#include <alloca.h>
extern "C" void kernel(const float* a, const float* b, float* out, int64_t a_0, int64_t a_1, int64_t, int64_t b_1,
                       int64_t, int64_t) {
  float* column = (float*)alloca(a_1 * sizeof(float));
  for (int64_t j = 0; j < b_1; ++j) {
    for (int64_t k = 0; k < a_1; ++k) column[k] = b[k * b_1 + j];
    for (int64_t i = 0; i < a_0; ++i) {
      float s0 = 0, s1 = 0, s2 = 0;
      int64_t k = 0;
      for (; k + 3 <= a_1; k += 3) {
        s0 += a[i * a_1 + k] * column[k];
        s1 += a[i * a_1 + k + 1] * column[k + 1];
        s2 += a[i * a_1 + k + 2] * column[k + 2];
      }
      switch (a_1 - k) {
        case 2: s1 += a[i * a_1 + k + 1] * column[k + 1]; [[fallthrough]];
        case 1: s0 += a[i * a_1 + k] * column[k];
      }
      out[i * b_1 + j] = s2 + s1 + s0;
    }
  }
}
