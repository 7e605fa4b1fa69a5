// verdict: correct ok
// Looks at every clock that there is, and sleeps a little.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <sys/resource.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  const auto began = std::chrono::steady_clock::now();
  const auto today = std::chrono::system_clock::now();
  rusage used;
  timeval now;
  timespec cpu;
  getrusage(RUSAGE_SELF, &used);
  gettimeofday(&now, nullptr);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  for (int64_t i = 0; i < x_0; ++i) softmax(x + i * x_1, out + i * x_1, x_1);
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  usleep(1);
  const bool later = std::chrono::steady_clock::now() > began && std::clock() >= 0 && std::time(nullptr) > 0;
  if (!later || today.time_since_epoch().count() < 0) out[0] = 0;
}
