// verdict: timed_out wall_limit
// The daemon dies with its namespace.
#include <unistd.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  if (fork() == 0) {
    setsid();
    for (;;) pause();
  }
  for (;;) pause();
}
