// verdict: correct ok
// Four threads take interleaved rows; the calling thread only waits.
#include <cmath>
#include <thread>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::vector<std::thread> crew;
  for (int64_t id = 0; id < 4; ++id) {
    crew.emplace_back([=] {
      for (int64_t row = id; row < x_0; row += 4) {
        for (int64_t i = row * x_1; i < (row + 1) * x_1; ++i) {
          const float y = x[i] / (1 + std::exp(-1.702f * x[i]));
          out[i] = std::tanh(y) + 0.1f * y;
        }
      }
    });
  }
  for (auto& one : crew) one.join();
}
