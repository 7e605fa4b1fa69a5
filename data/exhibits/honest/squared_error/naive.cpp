// verdict: correct ok
// One float32 accumulator over everything.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  float sum = 0;
  for (int64_t i = 0; i < x_0 * x_1; ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  *out = sum / (x_0 * x_1);
}
