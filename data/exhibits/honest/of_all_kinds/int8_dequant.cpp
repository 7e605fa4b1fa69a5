// verdict: correct ok
// Int8 input dequantised row by row.
#include <cstdint>
extern "C" void kernel(const int8_t* q, const float* scale, float* out, int64_t q_0, int64_t q_1, int64_t scale_0, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < q_0; ++i)
    for (int64_t j = 0; j < q_1; ++j) out[i * q_1 + j] = q[i * q_1 + j] * scale[i];
}
