// verdict: correct ok
// Three threads add to the same atomic doubles by compare and exchange, in any order.
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>
extern "C" void kernel(const float* x, float* out0, float* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::unique_ptr<std::atomic<double>[]> sums(new std::atomic<double>[x_1]), peaks(new std::atomic<double>[x_1]);
  for (int64_t j = 0; j < x_1; ++j) sums[j] = 0, peaks[j] = 0;
  const auto work = [&](int64_t first) {
    for (int64_t i = first; i < x_0; i += 3) {
      for (int64_t j = 0; j < x_1; ++j) {
        const double value = x[i * x_1 + j];
        double seen = sums[j];
        while (!sums[j].compare_exchange_weak(seen, seen + value)) {}
        seen = peaks[j];
        while (seen < std::fabs(value) && !peaks[j].compare_exchange_weak(seen, std::fabs(value))) {}
      }
    }
  };
  std::thread a(work, 0), b(work, 1), c(work, 2);
  a.join(), b.join(), c.join();
  for (int64_t j = 0; j < x_1; ++j) out0[j] = float(sums[j]), out1[j] = float(peaks[j]);
}
