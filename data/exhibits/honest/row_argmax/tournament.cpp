// verdict: correct ok
// Neighbours play for the larger value in rounds of halving; of equals the left one goes on.
#include <vector>
extern "C" void kernel(const float* x, float* out0, int64_t* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::vector<int64_t> left(x_1);
  for (int64_t i = 0; i < x_0; ++i, x += x_1) {
    for (int64_t j = 0; j < x_1; ++j) left[j] = j;
    for (int64_t n = x_1; n > 1; n = (n + 1) / 2) {
      for (int64_t j = 0; j < n / 2; ++j) {
        const int64_t a = left[2 * j], b = left[2 * j + 1];
        left[j] = x[b] > x[a] ? b : a;
      }
      if (n & 1) left[n / 2] = left[n - 1];
    }
    out0[i] = x[left[0]];
    out1[i] = left[0];
  }
}
