// verdict: correct ok
// Three outputs of two dtypes, with std::any_of, std::all_of and early leaving.
#include <algorithm>
#include <cstdint>
extern "C" void kernel(const bool* m, const float* x, bool* out0, bool* out1, int64_t* out2, int64_t m_0, int64_t m_1, int64_t x_0, int64_t x_1, int64_t out0_0, int64_t out1_0, int64_t out2_0) {
  for (int64_t r = 0; r < m_0; ++r) {
    const bool* p = m + r * m_1;
    out0[r] = std::any_of(p, p + m_1, [](bool b) { return b; });
    out1[r] = std::all_of(p, p + m_1, [](bool b) { return b; });
    int64_t n = 0;
    for (int64_t i = 0; i < m_1; ++i) n += p[i] && x[r * m_1 + i] > 0;
    out2[r] = n;
  }
}
