// verdict: correct ok
// Has a handler on a stack of its own, raises, jumps back, and computes.
#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <signal.h>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
static volatile int caught;
static jmp_buf back;
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  alignas(16) static char stack[1 << 16];
  stack_t own = {};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  sigaltstack(&own, nullptr);
  struct sigaction action = {};
  action.sa_handler = [](int) { ++caught; };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  std::raise(SIGUSR1);
  pthread_kill(pthread_self(), SIGUSR1);
  if (!setjmp(back)) std::longjmp(back, 1);
  for (int64_t i = 0; i < x_0 && caught >= 2; ++i) softmax(x + i * x_1, out + i * x_1, x_1);
}
