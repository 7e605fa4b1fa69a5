// verdict: correct ok
// Half matmul with a float accumulator, rounded to half once.
#include <cstdint>
extern "C" void kernel(const _Float16* a, const _Float16* b, _Float16* out, int64_t a_0, int64_t a_1, int64_t b_0, int64_t b_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < a_0; ++i)
    for (int64_t j = 0; j < b_1; ++j) {
      float s = 0;
      for (int64_t k = 0; k < a_1; ++k) s += (float)a[i * a_1 + k] * (float)b[k * b_1 + j];
      out[i * b_1 + j] = (_Float16)s;
    }
}
