// verdict: correct ok
// The sum or the difference.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* y, float* out, int64_t N, int64_t, int64_t, bool plus) {
  for (int64_t i = 0; i < N; ++i) out[i] = std::exp(-x[i] * x[i]) + (plus ? y[i] : -y[i]);
}
