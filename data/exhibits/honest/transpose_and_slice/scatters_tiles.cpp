// verdict: correct ok
// Reads along rows in tiles and writes down the columns of the output.
#include <algorithm>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t out_1) {
  for (int64_t r = 0; r < x_0; r += 16)
    for (int64_t c = 1; c < x_1; c += 8)
      for (int64_t i = r; i < std::min(r + 16, x_0); i += 2)
        for (int64_t j = c; j < std::min(c + 8, x_1); ++j) out[(j - 1) * out_1 + i / 2] = x[i * x_1 + j] * 2 + 1;
}
