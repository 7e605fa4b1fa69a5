// verdict: correct ok
// Each input is sent to the outputs that it reaches, instead of being gathered by them.
extern "C" void kernel(const float* x, const float* conv_weight, const float* conv_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t x_2, int64_t conv_weight_0, int64_t, int64_t conv_weight_2, int64_t,
                       int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0 * conv_weight_0 * x_2; ++i) out[i] = conv_bias[i / x_2 % conv_weight_0];
  for (int64_t n = 0; n < x_0; ++n)
    for (int64_t c = 0; c < x_1; ++c)
      for (int64_t l = 0; l < x_2; ++l)
        for (int64_t t = 0; t < conv_weight_2; ++t) {
          const int64_t to = l - t + conv_weight_2 / 2;
          if (to < 0 || to >= x_2) continue;
          for (int64_t f = 0; f < conv_weight_0; ++f)
            out[(n * conv_weight_0 + f) * x_2 + to] +=
                x[(n * x_1 + c) * x_2 + l] * conv_weight[(f * x_1 + c) * conv_weight_2 + t];
        }
}
