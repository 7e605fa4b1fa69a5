// verdict: crashed signal_11
#include <cstdint>
int64_t deeper(int64_t n) {
  volatile char frame[4096];
  frame[n % 4096] = 1;
  return deeper(n + 1) + frame[0];
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  out[0] = deeper(0);
}
