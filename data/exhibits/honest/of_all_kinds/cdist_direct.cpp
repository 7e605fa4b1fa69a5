// verdict: correct ok
// Direct differences (PyTorch uses the matmul form for larger inputs).
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* a, const float* b, float* out, int64_t a_0, int64_t a_1, int64_t b_0, int64_t b_1, int64_t out_0, int64_t out_1) {
  for (int64_t i = 0; i < a_0; ++i)
    for (int64_t j = 0; j < b_0; ++j) {
      float s = 0;
      for (int64_t d = 0; d < a_1; ++d) { float t = a[i * a_1 + d] - b[j * a_1 + d]; s += t * t; }
      out[i * b_0 + j] = std::sqrt(s);
    }
}
