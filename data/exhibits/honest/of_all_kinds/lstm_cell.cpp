// verdict: correct ok
// Sigmoid written through tanh, gates computed by a lambda, scratch in a std::vector.
#include <cstdint>
#include <cmath>
#include <vector>
extern "C" void kernel(const float* x, const float* h, const float* c, const float* cell_weight_ih, const float* cell_weight_hh, const float* cell_bias_ih, const float* cell_bias_hh, float* out0, float* out1, int64_t x_0, int64_t x_1, int64_t h_0, int64_t h_1, int64_t c_0, int64_t c_1, int64_t cell_weight_ih_0, int64_t cell_weight_ih_1, int64_t cell_weight_hh_0, int64_t cell_weight_hh_1, int64_t cell_bias_ih_0, int64_t cell_bias_hh_0, int64_t out0_0, int64_t out0_1, int64_t out1_0, int64_t out1_1) {
  const int64_t B = x_0, I = x_1, H = h_1;
  auto sigm = [](float v) { return 0.5f * std::tanh(0.5f * v) + 0.5f; };
  std::vector<float> gates(4 * H);
  for (int64_t b = 0; b < B; ++b) {
    auto gate = [&](int64_t r) {
      float acc = cell_bias_ih[r] + cell_bias_hh[r];
      for (int64_t k = 0; k < I; ++k) acc += x[b * I + k] * cell_weight_ih[r * I + k];
      for (int64_t k = 0; k < H; ++k) acc += h[b * H + k] * cell_weight_hh[r * H + k];
      return acc;
    };
    for (int64_t r = 0; r < 4 * H; ++r) gates[r] = gate(r);
    for (int64_t j = 0; j < H; ++j) {
      float i = sigm(gates[j]), f = sigm(gates[H + j]);
      float g = std::tanh(gates[2 * H + j]), o = sigm(gates[3 * H + j]);
      float cn = f * c[b * H + j] + i * g;
      out1[b * H + j] = cn;
      out0[b * H + j] = o * std::tanh(cn);
    }
  }
}
