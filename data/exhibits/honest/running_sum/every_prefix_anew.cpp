// verdict: correct ok
// Quadratic: each prefix is summed from its own beginning, by the library's partial sums of one.
#include <numeric>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = std::accumulate(x + i * x_1, x + i * x_1 + j + 1, 0.0f);
}
