// verdict: crashed signal_8
// An arithmetic trap.
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  volatile int64_t zero = 0;
  out[0] = x_0 / zero;
}
