// verdict: correct ok
// Scatter form with a double accumulator image.
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, const float* up_weight, const float* up_bias, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t x_3, int64_t up_weight_0, int64_t up_weight_1, int64_t up_weight_2, int64_t up_weight_3, int64_t up_bias_0, int64_t out_0, int64_t out_1, int64_t out_2, int64_t out_3) {
  const int64_t P = out_2, Q = out_3;
  std::vector<double> acc(P * Q);
  for (int64_t n = 0; n < x_0; ++n)
    for (int64_t o = 0; o < out_1; ++o) {
      for (auto& a : acc) a = up_bias[o];
      for (int64_t c = 0; c < x_1; ++c)
        for (int64_t i = 0; i < x_2; ++i)
          for (int64_t j = 0; j < x_3; ++j)
            for (int64_t u = 0; u < 4; ++u)
              for (int64_t v = 0; v < 4; ++v) {
                int64_t p = i * 2 - 1 + u, q = j * 2 - 1 + v;
                if (p < 0 || q < 0 || p >= P || q >= Q) continue;
                acc[p * Q + q] += (double)x[((n * x_1 + c) * x_2 + i) * x_3 + j] * up_weight[((c * out_1 + o) * 4 + u) * 4 + v];
              }
      for (int64_t i = 0; i < P * Q; ++i) out[(n * out_1 + o) * P * Q + i] = (float)acc[i];
    }
}
