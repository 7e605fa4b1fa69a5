// verdict: correct ok
// Collects the answers as bits of 64-bit words first, and spreads them to bytes afterwards.
#include <bitset>
#include <cmath>
#include <vector>
extern "C" void kernel(const float* x, const float* limit, bool* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t, int64_t) {
  const int64_t n = x_0 * x_1;
  std::vector<std::bitset<64>> words((n + 63) / 64);
  for (int64_t i = 0; i < n; ++i) words[i / 64][i % 64] = std::abs(x[i]) > limit[i / x_1];
  for (int64_t i = n; i-- > 0;) out[i] = words[i / 64][i % 64];
}
