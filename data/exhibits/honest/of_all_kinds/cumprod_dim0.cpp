// verdict: correct ok
// Running product down the rows with memcpy of the first row.
#include <cstdint>
#include <cstring>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  std::memcpy(out, x, sizeof(float) * x_1);
  for (int64_t i = 1; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = out[(i - 1) * x_1 + j] * x[i * x_1 + j];
}
