// verdict: correct ok
// 24 threads; the square root of a negative number is NaN.
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>
extern "C" void kernel(const float* x, float* out0, float* out1, int64_t x_0, int64_t out0_0, int64_t out1_0) {
  std::vector<std::thread> ts;
  for (int64_t t = 0; t < 24; ++t)
    ts.emplace_back([=] {
      for (int64_t i = t; i < x_0; i += 24) {
        out0[i] = std::sqrt(x[i]);
        float v = x[i] < 0 ? 0.0f : x[i];
        out1[i] = v * std::sqrt(v);
      }
    });
  for (auto& t : ts) t.join();
}
