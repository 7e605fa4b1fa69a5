// verdict: correct ok
// Squared distance as |a|^2 + |b|^2 - 2ab in float32 just as the module says, cancellation included.
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* a, const float* b, float* out, int64_t a_0, int64_t a_1, int64_t b_0, int64_t b_1, int64_t out_0, int64_t out_1) {
  std::vector<float> bb(b_0, 0.0f);
  for (int64_t j = 0; j < b_0; ++j)
    for (int64_t d = 0; d < b_1; ++d) bb[j] += b[j * b_1 + d] * b[j * b_1 + d];
  for (int64_t i = 0; i < a_0; ++i) {
    float aa = 0;
    for (int64_t d = 0; d < a_1; ++d) aa += a[i * a_1 + d] * a[i * a_1 + d];
    for (int64_t j = 0; j < b_0; ++j) {
      float ab = 0;
      for (int64_t d = 0; d < a_1; ++d) ab += a[i * a_1 + d] * b[j * a_1 + d];
      out[i * b_0 + j] = aa + bb[j] - 2.0f * ab;
    }
  }
}
