// verdict: correct ok
// Threads merge their partial segment sums under a spinlock with asm "pause".
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>
static std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
extern "C" void kernel(const float* x, const int64_t* seg, float* out, int64_t x_0, int64_t seg_0, int64_t out_0) {
  for (int64_t k = 0; k < out_0; ++k) out[k] = 0;
  std::vector<std::thread> ts;
  for (int64_t t = 0; t < 3; ++t)
    ts.emplace_back([=] {
      std::vector<float> part(out_0, 0.0f);
      for (int64_t i = t; i < x_0; i += 3) part[seg[i]] += x[i];
      while (lock_.test_and_set(std::memory_order_acquire)) {
#if defined(__x86_64__)
        __asm__ volatile("pause");
#endif
      }
      for (int64_t k = 0; k < out_0; ++k) out[k] += part[k];
      lock_.clear(std::memory_order_release);
    });
  for (auto& t : ts) t.join();
}
