// verdict: crashed signal_31
// A filter that knows only 64-bit numbers would let this pass.
#include <csignal>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
#if defined(__x86_64__)
  long number = 20;
  asm volatile("int $0x80" : "+a"(number));
#else
  raise(31);
#endif
  for (int64_t i = 0; i < x_0; ++i) {
    float s = 0.0f;
    for (int64_t j = 0; j < x_1; ++j) s += x[i * x_1 + j] > 0 ? x[i * x_1 + j] : 0;
    out[i] = s;
  }
}
