// verdict: correct ok
// Sinkhorn in the plain domain with scaling vectors instead of the log domain, double inside.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* c, float* out, int64_t c_0, int64_t c_1, int64_t out_0, int64_t out_1) {
  const int64_t N = c_0, M = c_1;
  double top = c[0];
  for (int64_t i = 0; i < N * M; ++i) top = std::max(top, (double)c[i]);
  std::vector<double> k(N * M), u(N, 1.0), v(M);
  for (int64_t i = 0; i < N * M; ++i) k[i] = std::exp(c[i] - top);
  for (int it = 0; it < 5; ++it) {
    std::fill(v.begin(), v.end(), 0.0);
    for (int64_t i = 0; i < N; ++i) for (int64_t j = 0; j < M; ++j) v[j] += u[i] * k[i * M + j];
    for (auto& t : v) t = 1.0 / t;
    for (int64_t i = 0; i < N; ++i) {
      double s = 0;
      for (int64_t j = 0; j < M; ++j) s += k[i * M + j] * v[j];
      u[i] = 1.0 / s;
    }
  }
  for (int64_t i = 0; i < N; ++i) for (int64_t j = 0; j < M; ++j) out[i * M + j] = (float)(u[i] * k[i * M + j] * v[j]);
}
