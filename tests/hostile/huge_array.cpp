// verdict: build_failed output_too_large
// Eight gigabytes of initialised data.
char big[1L << 33] = {1};
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) { out[0] = big[0]; }
