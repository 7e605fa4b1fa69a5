// verdict: correct ok
// ELU over 48 std::threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  const int64_t T = 48, step = (x_0 + T - 1) / T;
  std::vector<std::thread> pool;
  for (int64_t t = 0; t < T; ++t)
    pool.emplace_back([=] {
      for (int64_t i = t * step; i < std::min(x_0, (t + 1) * step); ++i) out[i] = x[i] > 0 ? x[i] : std::expm1(x[i]);
    });
  for (auto& t : pool) t.join();
}
