// verdict: correct ok
// Rotary embedding as a product of std::complex numbers.
#include <complex>
#include <cstdint>
extern "C" void kernel(const float* x, const float* cos, const float* sin, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t cos_0, int64_t cos_1, int64_t sin_0, int64_t sin_1, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3) {
  const int64_t F = x_3 / 2;
  for (int64_t r = 0; r < x_0 * x_1 * x_2; ++r) {
    const int64_t s = r / x_2 % x_1;
    for (int64_t f = 0; f < F; ++f) {
      std::complex<float> z(x[r * x_3 + f], x[r * x_3 + F + f]);
      z *= std::complex<float>(cos[s * F + f], sin[s * F + f]);
      out[r * x_3 + f] = z.real();
      out[r * x_3 + F + f] = z.imag();
    }
  }
}
