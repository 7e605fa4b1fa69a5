// verdict: correct ok
// Sixteen float32 accumulators, as a vectorised loop has them.
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t) {
  float strands[16] = {};
  for (int64_t i = 0; i < x_0; ++i) strands[i & 15] += x[i] * y[i];
  for (int half = 8; half; half /= 2)
    for (int k = 0; k < half; ++k) strands[k] += strands[k + half];
  *out = strands[0];
}
