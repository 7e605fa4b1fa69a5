// verdict: correct ok
// Keeps the mean up to date with each element instead of a sum, and writes it out every time.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  double mean = 0;
  for (int64_t i = 0; i < x_0 * x_1; ++i) {
    const double d = double(x[i]) - y[i];
    mean += (d * d - mean) / double(i + 1);
    *out = float(mean);
  }
}
