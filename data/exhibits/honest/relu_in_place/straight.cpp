// verdict: correct ok
// What the module does to its input, done from the input to the output.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t) {
  for (int64_t i = 0; i < x_0 * x_1; ++i) {
    const float v = x[i] * 2.0f + y[i % x_1];
    out[i] = v < 0 ? 0 : v;
  }
}
