// verdict: correct ok
// Threads with chosen stacks and names that wait for one another.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <limits.h>
#include <mutex>
#include <pthread.h>
#include <vector>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
struct Work {
  const float* x;
  float* out;
  int64_t rows, columns;
  std::atomic<int64_t> next{0};
  std::mutex lock;
  std::condition_variable done;
  int finished = 0;
};
static void* run(void* given) {
  Work& work = *static_cast<Work*>(given);
  for (int64_t i; (i = work.next++) < work.rows;) softmax(work.x + i * work.columns, work.out + i * work.columns, work.columns);
  std::lock_guard<std::mutex> hold(work.lock);
  if (++work.finished == 5) work.done.notify_one();
  return nullptr;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  Work work = {x, out, x_0, x_1};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1 << 20);
  std::vector<pthread_t> team(5);
  for (pthread_t& one : team) pthread_create(&one, &attributes, run, &work);
  pthread_setname_np(team[0], "row");
  {
    std::unique_lock<std::mutex> hold(work.lock);
    work.done.wait(hold, [&] { return work.finished == 5; });
  }
  for (pthread_t one : team) pthread_join(one, nullptr);
  pthread_attr_destroy(&attributes);
}
