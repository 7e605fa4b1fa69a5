// verdict: correct ok
// As it is written.
extern "C" void kernel(const double* x, bool* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) out[i] = x[i] > 0.5;
}
