// verdict: correct ok
// GRU over time with one std::async task for each batch row.
#include <cmath>
#include <cstdint>
#include <future>
#include <vector>
extern "C" void kernel(const float* x, const float* gru_weight_ih_l0, const float* gru_weight_hh_l0, const float* gru_bias_ih_l0, const float* gru_bias_hh_l0, float* out0, float* out1, int64_t x_0, int64_t x_1, int64_t x_2, int64_t gru_weight_ih_l0_0, int64_t gru_weight_ih_l0_1, int64_t gru_weight_hh_l0_0, int64_t gru_weight_hh_l0_1, int64_t gru_bias_ih_l0_0, int64_t gru_bias_hh_l0_0, int64_t out0_0, int64_t out0_1, int64_t out0_2, int64_t out1_0, int64_t out1_1, int64_t out1_2) {
  const int64_t T = x_1, I = x_2, H = out0_2;
  auto row = [&](int64_t b) {
    std::vector<float> h(H, 0.0f), gi(3 * H), gh(3 * H);
    for (int64_t t = 0; t < T; ++t) {
      for (int64_t r = 0; r < 3 * H; ++r) {
        gi[r] = gru_bias_ih_l0[r];
        gh[r] = gru_bias_hh_l0[r];
        for (int64_t k = 0; k < I; ++k) gi[r] += x[(b * T + t) * I + k] * gru_weight_ih_l0[r * I + k];
        for (int64_t k = 0; k < H; ++k) gh[r] += h[k] * gru_weight_hh_l0[r * H + k];
      }
      for (int64_t j = 0; j < H; ++j) {
        float r = 1.0f / (1.0f + std::exp(-gi[j] - gh[j]));
        float z = 1.0f / (1.0f + std::exp(-gi[H + j] - gh[H + j]));
        float n = std::tanh(gi[2 * H + j] + r * gh[2 * H + j]);
        h[j] = out0[(b * T + t) * H + j] = (1.0f - z) * n + z * h[j];
      }
    }
    for (int64_t j = 0; j < H; ++j) out1[b * H + j] = h[j];
  };
  std::vector<std::future<void>> jobs;
  for (int64_t b = 0; b < x_0; ++b) jobs.push_back(std::async(std::launch::async, row, b));
  for (auto& j : jobs) j.get();
}
