// verdict: crashed out_of_memory
// Stops at the memory limit.
#include <new>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (;;) {
    char* p = new char[64 << 20];
    for (int64_t k = 0; k < 64 << 20; k += 1 << 20) ((volatile char*)p)[k] = 1;
  }
}
