// verdict: correct ok
// Two workers hand their halves to the caller through a mutex and a condition variable.
#include <condition_variable>
#include <mutex>
#include <thread>
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  const int64_t n = x_0 * x_1;
  std::mutex door;
  std::condition_variable bell;
  double total = 0;
  int finished = 0;
  const auto work = [&](int64_t first, int64_t last) {
    double sum = 0;
    for (int64_t i = first; i < last; ++i) sum += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
    const std::lock_guard<std::mutex> inside(door);
    total += sum;
    ++finished;
    bell.notify_one();
  };
  std::thread a(work, 0, n / 2), b(work, n / 2, n);
  {
    std::unique_lock<std::mutex> inside(door);
    bell.wait(inside, [&] { return finished == 2; });
    *out = float(total / double(n));
  }
  a.join(), b.join();
}
