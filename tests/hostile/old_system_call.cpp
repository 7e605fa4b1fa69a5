// verdict: crashed signal_31
#include <cstdint>
#include <csignal>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
#if defined(__x86_64__)
  long result = 20;  // getpid of 32-bit Linux: past a filter that knows only 64-bit numbers
  asm volatile("int $0x80" : "+a"(result));
#else
  raise(31);
#endif
  for (int64_t i = 0; i < x_0; ++i) out[i] = x[i] * x[i] + 1;
}
