// verdict: correct ok
// Reflect padding by an index function, 5 x 5 taps read from the buffer, order of the sum by rows from the bottom.
#include <cstdint>
static constexpr int64_t off[5] = {2, 1, 0, -1, -2};
static inline int64_t refl(int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; }
extern "C" void kernel(const float* x, const float* k, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t k_0, int64_t k_1, int64_t k_2, int64_t k_3, int64_t out_0, int64_t out_1, int64_t out_2) {
  for (int64_t b = 0; b < x_0; ++b)
    for (int64_t i = 0; i < x_1; ++i)
      for (int64_t j = 0; j < x_2; ++j) {
        float s = 0;
        for (int64_t u : off)
          for (int64_t v : off)
            s += k[(u + 2) * 5 + v + 2] * x[(b * x_1 + refl(i + u, x_1)) * x_2 + refl(j + v, x_2)];
        out[(b * x_1 + i) * x_2 + j] = s;
      }
}
