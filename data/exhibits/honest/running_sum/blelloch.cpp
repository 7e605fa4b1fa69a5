// verdict: correct ok
// A work-efficient scan: up a tree of powers of two with zero padding, then down again.
#include <utility>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  int64_t n = 1;
  while (n < x_1) n <<= 1;
  std::vector<float> tree(n);
  for (int64_t i = 0; i < x_0; ++i) {
    for (int64_t j = 0; j < n; ++j) tree[j] = j < x_1 ? x[i * x_1 + j] : 0.0f;
    for (int64_t d = 1; d < n; d <<= 1)
      for (int64_t j = 2 * d - 1; j < n; j += 2 * d) tree[j] += tree[j - d];
    tree[n - 1] = 0;
    for (int64_t d = n >> 1; d > 0; d >>= 1)
      for (int64_t j = 2 * d - 1; j < n; j += 2 * d) tree[j] += std::exchange(tree[j - d], tree[j]);
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = tree[j] + x[i * x_1 + j];
  }
}
