// verdict: build_failed no_kernel_function
#include <cstdint>
void square(const float* x, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * x[i] + 1;
}
