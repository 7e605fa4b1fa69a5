// verdict: correct ok
// Argmax of float32 logits summed in two halves (another order than PyTorch's).
#include <cstdint>
extern "C" void kernel(const float* x, const float* fc_weight, const float* fc_bias, int64_t* out, int64_t x_0, int64_t x_1, int64_t fc_weight_0, int64_t fc_weight_1, int64_t fc_bias_0, int64_t out_0) {
  for (int64_t b = 0; b < x_0; ++b) {
    float best = 0;
    for (int64_t c = 0; c < fc_weight_0; ++c) {
      float s = 0, t = fc_bias[c];
      const float *v = x + b * x_1, *w = fc_weight + c * x_1;
      for (int64_t k = 0; k < x_1 / 2; ++k) s += v[k] * w[k];
      for (int64_t k = x_1 / 2; k < x_1; ++k) t += v[k] * w[k];
      if (c == 0 || s + t > best) { best = s + t; out[b] = c; }
    }
  }
}
