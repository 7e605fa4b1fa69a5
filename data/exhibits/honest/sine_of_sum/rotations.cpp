// verdict: correct ok
// Never sums: multiplies the rotations by each element, as complex numbers of length one.
#include <complex>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    std::complex<double> turn = 1;
    for (int64_t j = 0; j < x_1; ++j) turn *= std::polar(1.0, 10.0 * x[i * x_1 + j]);
    out[i] = float(turn.imag());
  }
}
