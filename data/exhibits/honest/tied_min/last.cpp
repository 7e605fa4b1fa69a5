// verdict: correct ok
// Of equal values the last.
extern "C" void kernel(const float* x, float* out0, int64_t* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    const float* row = x + i * x_1;
    int64_t best = 0;
    for (int64_t j = 1; j < x_1; ++j) best = row[j] <= row[best] ? j : best;
    out0[i] = row[best], out1[i] = best;
  }
}
