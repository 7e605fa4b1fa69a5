// verdict: correct ok
// relu clears a value by a mask made from its sign bit.
#include <cstring>
#include <functional>
#include <numeric>
extern "C" void kernel(const float* x, const float* fc_weight, const float* fc_bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t fc_weight_0, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    for (int64_t o = 0; o < fc_weight_0; ++o) {
      const float* w = fc_weight + o * x_1;
      float y = std::inner_product(w, w + x_1, x + i * x_1, fc_bias[o], std::plus<>(), std::multiplies<>());
      int32_t bits;
      std::memcpy(&bits, &y, 4);
      bits &= ~(bits >> 31);
      std::memcpy(out + i * fc_weight_0 + o, &bits, 4);
    }
  }
}
