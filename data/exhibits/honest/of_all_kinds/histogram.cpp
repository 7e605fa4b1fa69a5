// verdict: correct ok
// Four std::threads counting into one shared array of std::atomic counters.
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>
extern "C" void kernel(const int64_t* idx, int64_t* out, int64_t idx_0, int64_t out_0) {
  const int64_t bins = out_0, T = 4;
  std::vector<std::atomic<int64_t>> cnt(bins);
  for (auto& c : cnt) c.store(0, std::memory_order_relaxed);
  std::vector<std::thread> ts;
  for (int64_t t = 0; t < T; ++t)
    ts.emplace_back([&, t] {
      for (int64_t i = idx_0 * t / T; i < idx_0 * (t + 1) / T; ++i)
        if (idx[i] < bins) cnt[idx[i]].fetch_add(1, std::memory_order_relaxed);
    });
  for (auto& t : ts) t.join();
  for (int64_t b = 0; b < bins; ++b) out[b] = cnt[b].load();
}
