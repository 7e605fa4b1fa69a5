// verdict: correct ok
// exp(x − log Σ exp x): the division becomes a subtraction.
#include <cmath>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < x_1; ++j) sum += std::exp(double(x[i * x_1 + j]));
    const double level = std::log(sum);
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = float(std::exp(x[i * x_1 + j] - level));
  }
}
