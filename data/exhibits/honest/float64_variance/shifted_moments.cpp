// verdict: correct ok
// Moments about the first value of the row: one pass that does not cancel.
extern "C" void kernel(const double* x, double* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const double pivot = x[i * x_1];
    double sum = 0, square = 0;
    for (int64_t j = 0; j < x_1; ++j) {
      const double d = x[i * x_1 + j] - pivot;
      sum += d;
      square += d * d;
    }
    out[i] = (square - sum * sum / x_1) / x_1;
  }
}
