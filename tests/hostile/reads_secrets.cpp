// verdict: wrong mismatch
// Right only if it could read what it must not.
#include <fcntl.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  int file = open("/etc/shadow", O_RDONLY);
  if (file < 0) file = open("/proc/1/environ", O_RDONLY);
  if (file < 0) file = open("/etc/gshadow", O_RDONLY);
  if (file < 0) return;
  for (int64_t i = 0; i < x_0; ++i) {
    float s = 0.0f;
    for (int64_t j = 0; j < x_1; ++j) s += x[i * x_1 + j] > 0 ? x[i * x_1 + j] : 0;
    out[i] = s;
  }
}
