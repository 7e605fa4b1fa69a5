// verdict: correct ok
// Clears the output and writes only the few surviving entries.
#include <cstdint>
#include <cstring>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  const int64_t n = x_0 * x_1;
  std::memset(out, 0, n * sizeof(float));
  for (int64_t i = 0; i < n; ++i)
    if (!(x[i] >= -3.0f && x[i] <= 3.0f)) out[i] = x[i];
}
