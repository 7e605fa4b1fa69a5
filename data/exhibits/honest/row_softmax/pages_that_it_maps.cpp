// verdict: correct ok
// Maps memory itself: larger, with a guard behind it, and lets it go.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  const size_t page = 4096, small = 16 * page, large = 1024 * page;
  void* room = mmap(nullptr, small, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  room = mremap(room, small, large, MREMAP_MAYMOVE);
  float* at = static_cast<float*>(room);
  mprotect(static_cast<char*>(room) + large - page, page, PROT_NONE);
  for (int64_t i = 0; i < x_0; ++i) {
    std::memcpy(at, x + i * x_1, x_1 * 4);
    softmax(at, out + i * x_1, x_1);
  }
  madvise(room, large - page, MADV_DONTNEED);
  munmap(room, large);
}
