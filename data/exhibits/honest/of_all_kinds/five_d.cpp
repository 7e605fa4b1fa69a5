// verdict: correct ok
// Five dimensions addressed through a small index struct, sum accumulated straight into the output.
#include <cstdint>
#include <cstring>
struct Ix { int64_t b, c, d, e; int64_t at(int64_t i, int64_t j, int64_t k, int64_t l, int64_t m) const { return (((i * b + j) * c + k) * d + l) * e + m; } };
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t x_4, int64_t out_0, int64_t out_1, int64_t out_2) {
  const Ix ix{x_1, x_2, x_3, x_4};
  std::memset(out, 0, sizeof(float) * out_0 * out_1 * out_2);
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j)
      for (int64_t k = 0; k < x_2; ++k)
        for (int64_t l = 0; l < x_3; ++l)
          for (int64_t m = 0; m < x_4; ++m) out[(i * out_1 + m) * out_2 + j] += x[ix.at(i, j, k, l, m)];
}
