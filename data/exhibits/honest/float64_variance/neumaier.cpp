// verdict: correct ok
// Neumaier's compensated sums for the mean and for the squares.
#include <cmath>
struct Sum {
  double total = 0, lost = 0;
  void operator+=(double v) {
    const double next = total + v;
    lost += std::fabs(total) >= std::fabs(v) ? (total - next) + v : (v - next) + total;
    total = next;
  }
  operator double() const { return total + lost; }
};
extern "C" void kernel(const double* x, double* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    Sum mean, square;
    for (int64_t j = 0; j < x_1; ++j) mean += x[i * x_1 + j];
    for (int64_t j = 0; j < x_1; ++j) square += std::pow(x[i * x_1 + j] - mean / x_1, 2);
    out[i] = square / x_1;
  }
}
