// verdict: correct ok
// Half to float by hand, with memcpy bit tricks (subnormals, infinities and NaN included).
#include <cstdint>
#include <cstring>
static inline float h2f(const _Float16* p) {
  uint16_t h; std::memcpy(&h, p, 2);
  uint32_t s = (h & 0x8000u) << 16, e = (h >> 10) & 31, m = h & 1023, b;
  if (e == 0) { float f = (float)m * 0x1p-24f; return s ? -f : f; }
  b = s | (e == 31 ? 0x7f800000u : (e + 112) << 23) | (m << 13);
  float f; std::memcpy(&f, &b, 4);
  return f;
}
extern "C" void kernel(const _Float16* x, const _Float16* y, float* out, int64_t x_0, int64_t y_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) out[i] = h2f(x + i) * 0.5f + h2f(y + i);
}
