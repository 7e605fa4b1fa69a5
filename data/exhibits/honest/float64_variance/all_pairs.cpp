// verdict: correct ok
// Quadratic: half the mean squared difference of all pairs is the variance.
extern "C" void kernel(const double* x, double* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const double* row = x + i * x_1;
    double sum = 0;
    for (int64_t a = 0; a < x_1; ++a)
      for (int64_t b = 0; b < a; ++b) sum += (row[a] - row[b]) * (row[a] - row[b]);
    out[i] = sum / (double(x_1) * x_1);
  }
}
