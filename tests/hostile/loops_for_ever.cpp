// verdict: timed_out wall_limit
// Killed when the round is up.
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (volatile int i = 0;; i = i + 1) {
  }
}
