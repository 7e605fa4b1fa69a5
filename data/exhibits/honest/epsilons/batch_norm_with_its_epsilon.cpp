// verdict: correct ok
// The epsilon is added to the running variance.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* w, const float* b, const float* mean, const float* var, const int64_t*, float* out, int64_t B, int64_t C, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < B; ++i)
    for (int64_t c = 0; c < C; ++c)
      out[i * C + c] = (x[i * C + c] - mean[c]) / std::sqrt(var[c] + 1e-5f) * w[c] + b[c];
}
