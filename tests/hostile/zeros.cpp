// verdict: wrong mismatch
// Computes nothing.
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (int64_t i = 0; i < out_0; ++i) out[i] = 0;
}
