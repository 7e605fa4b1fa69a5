// verdict: correct ok
// Value and place are packed into one 64-bit integer whose maximum is the answer to both.
#include <string.h>
extern "C" void kernel(const float* x, float* out0, int64_t* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    uint64_t best = 0;
    for (int64_t j = 0; j < x_1; ++j) {
      uint32_t bits;
      memcpy(&bits, x + i * x_1 + j, 4);
      bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
      const uint64_t key = (uint64_t)bits << 32 | (uint32_t)~(uint32_t)j;
      best = key > best ? key : best;
    }
    uint32_t bits = (uint32_t)(best >> 32);
    bits = bits & 0x80000000u ? bits & 0x7fffffffu : ~bits;
    memcpy(out0 + i, &bits, 4);
    out1[i] = (uint32_t)~(uint32_t)best;
  }
}
