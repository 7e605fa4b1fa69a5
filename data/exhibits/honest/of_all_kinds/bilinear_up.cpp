// verdict: correct ok
// Weights 1/4 and 3/4 from the parity of the output index, edges clamped.
#include <algorithm>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3) {
  auto near = [](int64_t o, int64_t n) { return std::min(o / 2, n - 1); };
  auto far = [](int64_t o, int64_t n) { return std::clamp<int64_t>(o & 1 ? o / 2 + 1 : o / 2 - 1, 0, n - 1); };
  for (int64_t k = 0; k < x_0 * x_1; ++k)
    for (int64_t i = 0; i < out_2; ++i)
      for (int64_t j = 0; j < out_3; ++j) {
        const float* p = x + k * x_2 * x_3;
        const float *a = p + near(i, x_2) * x_3, *b = p + far(i, x_2) * x_3;
        int64_t c = near(j, x_3), d = far(j, x_3);
        out[(k * out_2 + i) * out_3 + j] = 0.75f * (0.75f * a[c] + 0.25f * a[d]) + 0.25f * (0.75f * b[c] + 0.25f * b[d]);
      }
}
