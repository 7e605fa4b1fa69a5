// verdict: correct ok
// PyTorch's pairwise distance with its eps of 1e-6 inside, template lambda for both distances.
#include <algorithm>
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* a, const float* p, const float* n, float* out, int64_t a_0, int64_t a_1, int64_t p_0, int64_t p_1, int64_t n_0, int64_t n_1) {
  auto dist = [&](const float* u, const float* v) {
    float s = 0;
    for (int64_t i = 0; i < a_1; ++i) { float t = u[i] - v[i] + 1e-6f; s += t * t; }
    return std::sqrt(s);
  };
  float total = 0;
  for (int64_t b = 0; b < a_0; ++b) {
    const int64_t o = b * a_1;
    total += std::max(dist(a + o, p + o) - dist(a + o, n + o) + 1.0f, 0.0f);
  }
  out[0] = total / (float)a_0;
}
