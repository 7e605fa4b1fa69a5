// verdict: correct ok
// A page-aligned workspace from mmap, given back at the end, holds the full transpose.
#include <string.h>
#include <sys/mman.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  const size_t bytes = x_0 * x_1 * sizeof(float);
  float* turned = (float*)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(turned, bytes, MADV_HUGEPAGE);
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) turned[j * x_0 + i] = 2 * x[i * x_1 + j] + 1;
  for (int64_t i = 0; i < out_0; ++i)
    for (int64_t j = 0; j < out_1; ++j) out[i * out_1 + j] = turned[(i + 1) * x_0 + 2 * j];
  munmap(turned, bytes);
}
