// verdict: build_failed compile_error
// Nothing is linked but the C++ library.
extern "C" float cblas_sasum(int64_t, const float*);
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  cblas_sasum(x_0, x);
}
