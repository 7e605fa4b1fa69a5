// verdict: correct ok
// Two memcpy calls a row through a buffer from malloc, and a second pass that scales or turns.
#include <stdlib.h>
#include <string.h>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t, int64_t steps,
                       double alpha, bool flip) {
  const int64_t by = ((steps % x_1) + x_1) % x_1;
  const float factor = (float)alpha;
  float* row = (float*)malloc(x_1 * sizeof(float));
  for (int64_t i = 0; i < x_0; ++i, x += x_1, out += x_1) {
    memcpy(row, x + x_1 - by, by * sizeof(float));
    memcpy(row + by, x, (x_1 - by) * sizeof(float));
    for (int64_t j = 0; j < x_1; ++j) out[j] = row[flip ? x_1 - 1 - j : j] * factor;
  }
  free(row);
}
