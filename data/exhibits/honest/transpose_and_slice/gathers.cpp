// verdict: correct ok
// Reads down the columns of the input in the order of the output.
extern "C" void kernel(const float* x, float* out, int64_t, int64_t x_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < out_0; ++i)
    for (int64_t j = 0; j < out_1; ++j) *out++ = x[2 * j * x_1 + i + 1] * 2 + 1;
}
