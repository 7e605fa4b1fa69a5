// verdict: correct ok
// The last value first: every earlier one is the total less what comes after it, in double.
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    double total = 0;
    for (int64_t j = 0; j < x_1; ++j) total += x[i * x_1 + j];
    for (int64_t j = x_1 - 1; j >= 0; --j) {
      out[i * x_1 + j] = (float)total;
      total -= x[i * x_1 + j];
    }
  }
}
