// verdict: crashed signal_11
#include <cstdint>
#include <sys/mman.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = x[i] * x[i] + 1;
  void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(x) & ~4095ul);
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  const_cast<float*>(x)[0] = 0;
}
