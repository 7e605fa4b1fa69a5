// verdict: timed_out wall_limit
#include <cstdint>
extern "C" void kernel(const float*, float*, int64_t, int64_t) {
  for (volatile int i = 0;; i = i + 1) {}
}
