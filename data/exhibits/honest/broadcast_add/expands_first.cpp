// verdict: correct ok
// Both small tensors are expanded into full ones in heap memory before anything is computed.
#include <memory>
extern "C" void kernel(const float* x, const float* row, const float* column, float* out, int64_t x_0,
                       int64_t x_1, int64_t x_2, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  const int64_t n = x_0 * x_1 * x_2;
  auto rows = std::make_unique<float[]>(n), columns = std::make_unique<float[]>(n);
  for (int64_t i = 0; i < n; ++i) rows[i] = row[i % x_2];
  for (int64_t i = 0; i < n; ++i) columns[i] = column[i / x_2 % x_1];
  for (int64_t i = 0; i < n; ++i) out[i] = (x[i] + rows[i]) * columns[i] - rows[i];
}
