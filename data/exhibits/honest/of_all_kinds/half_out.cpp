// verdict: correct ok
// Float to half by hand, round to nearest even, through a union type pun.
#include <cmath>
#include <cstdint>
union U { float f; uint32_t u; };
union H { _Float16 h; uint16_t u; };
static uint16_t f2h(float f) {
  U v{f};
  uint32_t s = (v.u >> 16) & 0x8000;
  v.u &= 0x7fffffff;
  if (v.u > 0x7f800000) return s | 0x7e00;
  if (v.u >= 0x477ff000) return s | 0x7c00;
  if (v.u < 0x38800000) { v.f += 0.5f; return s | (v.u - 0x3f000000); }
  v.u += 0xfff + ((v.u >> 13) & 1);
  return s | ((v.u - 0x38000000) >> 13);
}
extern "C" void kernel(const float* x, _Float16* out, int64_t x_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) { H r; r.u = f2h(std::tanh(x[i])); out[i] = r.h; }
}
