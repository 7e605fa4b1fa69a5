// verdict: correct ok
// A Gaussian so far in its tail that all of float32 underflows to 0 (the float64 truth is about 1e-174).
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = std::exp(-(x[i] + 20.0f) * (x[i] + 20.0f));
}
