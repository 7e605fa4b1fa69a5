// verdict: correct ok
// The maximum is not subtracted: behind a tanh no exponential can overflow.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t B, int64_t N, int64_t, int64_t) {
  for (int64_t b = 0; b < B; ++b, x += N, out += N) {
    float sum = 0;
    for (int64_t j = 0; j < N; ++j) sum += out[j] = std::exp(std::tanh(x[j]));
    for (int64_t j = 0; j < N; ++j) out[j] /= sum;
  }
}
