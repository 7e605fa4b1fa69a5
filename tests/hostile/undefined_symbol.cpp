// verdict: build_failed compile_error
#include <cstdint>
extern "C" void cblas_ssquare(const float*, float*, int64_t);
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  cblas_ssquare(x, out, x_0);
}
