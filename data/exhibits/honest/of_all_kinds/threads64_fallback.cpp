// verdict: correct ok
// Wants 64 threads, catches std::system_error and does the part itself when one cannot be started.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t out_0) {
  const int64_t T = 64, step = (x_0 + T - 1) / T;
  std::vector<std::thread> pool;
  for (int64_t t = 0; t < T; ++t) {
    auto job = [=] {
      for (int64_t i = t * step; i < std::min(x_0, (t + 1) * step); ++i) out[i] = x[i] > 0 ? x[i] : std::expm1(x[i]);
    };
    try { pool.emplace_back(job); } catch (const std::system_error&) { job(); }
  }
  for (auto& t : pool) t.join();
}
