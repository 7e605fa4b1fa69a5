// verdict: correct ok
// Looks for the smallest 1 − sigmoid instead, which keeps its digits near 0, from the right end.
#include <cmath>
extern "C" void kernel(const float* x, int64_t* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const auto distance = [row = x + i * x_1](int64_t j) { return 1 / (1 + std::exp(2.0 * row[j])); };
    int64_t best = x_1 - 1;
    for (int64_t j = best; j-- > 0;)
      if (distance(j) <= distance(best)) best = j;
    out[i] = best;
  }
}
