// verdict: timed_out wall_limit
// Stops at the process limit, and dies with its namespace.
#include <unistd.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  for (;;) fork();
}
