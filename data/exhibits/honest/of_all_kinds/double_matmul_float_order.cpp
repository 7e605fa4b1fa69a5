// verdict: correct ok
// Double dot products by std::inner_product.
#include <cstdint>
#include <numeric>
extern "C" void kernel(const double* a, const double* b, double* out, int64_t a_0, int64_t a_1, int64_t b_0, int64_t b_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < a_0; ++i)
    for (int64_t j = 0; j < b_0; ++j)
      out[i * b_0 + j] = std::inner_product(a + i * a_1, a + (i + 1) * a_1, b + j * b_1, 0.0);
}
