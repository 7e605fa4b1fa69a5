// verdict: correct ok
// Of equal values the last.
extern "C" void kernel(const float* x, int64_t* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    int64_t best = 0;
    for (int64_t j = 1; j < x_1; ++j) best = x[i * x_1 + j] >= x[i * x_1 + best] ? j : best;
    out[i] = best;
  }
}
