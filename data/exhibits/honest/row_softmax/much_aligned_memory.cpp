// verdict: correct ok
// Copies through 48 MB of its own, aligned and in huge pages if there are any.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  const size_t bytes = 48 << 20;
  float* room = static_cast<float*>(std::aligned_alloc(2 << 20, bytes));
  madvise(room, bytes, MADV_HUGEPAGE);
  for (size_t at = 0; at < bytes / 4; at += 1024) room[at] = 0;
  for (int64_t i = 0; i < x_0; ++i) {
    std::memcpy(room, x + i * x_1, x_1 * 4);
    softmax(room, out + i * x_1, x_1);
  }
  std::free(room);
}
