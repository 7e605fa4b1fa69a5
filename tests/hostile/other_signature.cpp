// verdict: build_failed compile_error
// Would be called with arguments it does not take.
extern "C" void kernel(const float* x, float* out) { out[0] = x[0]; }
