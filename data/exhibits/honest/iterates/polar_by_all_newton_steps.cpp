// verdict: correct ok
// All Newton-Schulz steps.
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* a, float* out, int64_t B, int64_t N, int64_t, int64_t, int64_t, int64_t) {
  std::vector<float> y(N * N), g(N * N), z(N * N);
  for (int64_t b = 0; b < B; ++b) {
    float sum = 0;
    for (int64_t i = 0; i < N * N; ++i) sum += a[b * N * N + i] * a[b * N * N + i];
    for (int64_t i = 0; i < N * N; ++i) y[i] = a[b * N * N + i] / std::sqrt(sum);
    for (int step = 0; step < 48; ++step) {
      for (int64_t i = 0; i < N; ++i)
        for (int64_t j = 0; j < N; ++j) {
          float s = 0;
          for (int64_t k = 0; k < N; ++k) s += y[i * N + k] * y[j * N + k];
          g[i * N + j] = s;
        }
      for (int64_t i = 0; i < N; ++i)
        for (int64_t j = 0; j < N; ++j) {
          float s = 0;
          for (int64_t k = 0; k < N; ++k) s += g[i * N + k] * y[k * N + j];
          z[i * N + j] = 1.5f * y[i * N + j] - 0.5f * s;
        }
      y = z;
    }
    for (int64_t i = 0; i < N * N; ++i) out[b * N * N + i] = y[i];
  }
}
