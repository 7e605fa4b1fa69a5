// verdict: correct ok
// One std::async(launch::async) per row, 32 rows at once.
#include <cmath>
#include <cstdint>
#include <future>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1) {
  std::vector<std::future<void>> jobs;
  for (int64_t b = 0; b < x_0; ++b)
    jobs.push_back(std::async(std::launch::async, [=] {
      double m = -INFINITY, s = 0;
      for (int64_t i = 0; i < x_1; ++i) {
        double v = x[b * x_1 + i];
        if (v > m) { s = s * std::exp(m - v) + 1; m = v; } else s += std::exp(v - m);
        out[b * x_1 + i] = (float)(m + std::log(s));
      }
    }));
  for (auto& j : jobs) j.get();
}
