// verdict: correct ok
// Integer floor division and Python modulo by hand, xor by inline asm on x86.
#include <cstdint>
static inline int64_t xor_(int64_t a, int64_t b) {
#if defined(__x86_64__)
  __asm__("xorq %1, %0" : "+r"(a) : "r"(b) : "cc");
  return a;
#else
  return a ^ b;
#endif
}
extern "C" void kernel(const int64_t* a, const int64_t* b, int64_t* out0, int64_t* out1, int64_t a_0, int64_t a_1, int64_t b_0, int64_t b_1, int64_t out0_0, int64_t out0_1, int64_t out1_0, int64_t out1_1) {
  for (int64_t i = 0; i < a_0 * a_1; ++i) {
    int64_t r = xor_(a[i], b[i]) % 7;
    out0[i] = r < 0 ? r + 7 : r;
    out1[i] = a[i] / 3 - (a[i] % 3 < 0);
  }
}
