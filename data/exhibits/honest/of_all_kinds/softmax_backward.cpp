// verdict: correct ok
// Differences that almost cancel where a row has two large values: all kernels are off there.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void kernel(const float* x, const float* dy, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t dy_0, int64_t dy_1, int64_t dy_2, int64_t out_0, int64_t out_1, int64_t out_2) {
  int64_t outer = x_0 * x_1;
  for (int64_t i = 0; i < outer; ++i) {
    float m = -INFINITY;
#pragma omp simd reduction(max:m)
    for (int64_t j = 0; j < x_2; ++j) {
      float v = x[i * x_2 + j];
      m = std::max(m, v);
    }
    float s = 0.0f;
    float t = 0.0f;
#pragma omp simd reduction(+:s) reduction(+:t)
    for (int64_t j = 0; j < x_2; ++j) {
      float v = x[i * x_2 + j];
      v = std::exp(v - m);
      s += v;
      t += v * dy[i * x_2 + j];
      out[i * x_2 + j] = v;
    }
#pragma omp simd
    for (int64_t j = 0; j < x_2; ++j) {
      float v = out[i * x_2 + j];
      v = v / s * (dy[i * x_2 + j] - t / s);
      out[i * x_2 + j] = v;
    }
  }
}
