// verdict: correct ok
// Slides along the length with the last three columns of the input in a ring.
#include <vector>
extern "C" void kernel(const float* x, const float* conv_weight, const float* conv_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t x_2, int64_t conv_weight_0, int64_t, int64_t conv_weight_2, int64_t,
                       int64_t, int64_t, int64_t) {
  const int64_t taps = conv_weight_2, ahead = taps - 1 - taps / 2;
  for (int64_t n = 0; n < x_0; ++n) {
    std::vector<float> ring(taps * x_1, 0.0f);
    for (int64_t at = 0; at < x_2 + ahead; ++at) {
      for (int64_t c = 0; c < x_1; ++c) ring[at % taps * x_1 + c] = at < x_2 ? x[(n * x_1 + c) * x_2 + at] : 0;
      const int64_t l = at - ahead;
      if (l < 0) continue;
      for (int64_t f = 0; f < conv_weight_0; ++f) {
        double sum = conv_bias[f];
        for (int64_t t = 0; t < taps; ++t)
          for (int64_t c = 0; c < x_1; ++c)
            sum += double(ring[(at + 1 + t) % taps * x_1 + c]) * conv_weight[(f * x_1 + c) * taps + t];
        out[(n * conv_weight_0 + f) * x_2 + l] = float(sum);
      }
    }
  }
}
