// verdict: correct ok
// Int32 gcd by recursion.
#include <cstdint>
#include <cstdlib>
static int32_t gcd(int32_t a, int32_t b) { return b == 0 ? std::abs(a) : gcd(b, a % b); }
extern "C" void kernel(const int32_t* a, const int32_t* b, int32_t* out, int64_t a_0, int64_t b_0, int64_t out_0) {
  for (int64_t i = 0; i < a_0; ++i) out[i] = gcd(a[i], b[i]);
}
