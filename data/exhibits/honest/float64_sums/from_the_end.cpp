// verdict: correct ok
// Adds from the last term to the first, in eight sums.
extern "C" void kernel(const double* x, double* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    double part[8] = {}, s = 0;
    for (int64_t j = x_1; j-- > 0;) part[j % 8] += x[i * x_1 + j] > 0 ? x[i * x_1 + j] : 0;
    for (double one : part) s += one;
    out[i] = s;
  }
}
