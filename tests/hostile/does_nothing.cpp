// verdict: wrong mismatch
// Leaves the output as it found it: poisoned.
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
}
