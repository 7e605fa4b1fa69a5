// verdict: crashed signal_6
// Nobody catches it.
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  throw 1;
}
