// verdict: correct ok
// One float32 accumulator: its error does not shrink when the positive and negative terms cancel.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t) {
  float sum = 0;
  for (int64_t i = 0; i < x_0; ++i) sum += x[i] * y[i];
  *out = sum;
}
