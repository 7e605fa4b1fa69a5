// verdict: correct ok
// 2 x 2 inverses, some nearly singular, determinant by Kahan's fma difference of products.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* m, float* out, int64_t m_0, int64_t m_1, int64_t m_2, int64_t out_0, int64_t out_1, int64_t out_2) {
  for (int64_t i = 0; i < m_0; ++i) {
    const float* p = m + i * m_1 * m_2;
    float a = p[0], b = p[1], c = p[m_2], d = p[m_2 + 1];
    float w = b * c, e = std::fma(-b, c, w), det = std::fma(a, d, -w) + e;
    float* o = out + i * 4;
    o[0] = d / det; o[1] = -b / det; o[2] = -c / det; o[3] = a / det;
  }
}
