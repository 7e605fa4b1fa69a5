// verdict: correct ok
// Copies the input to the output and then works in place there, in three passes like the module.
#include <string.h>
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t) {
  memcpy(out, x, x_0 * x_1 * sizeof(float));
  for (float* at = out; at != out + x_0 * x_1; ++at) *at *= 2.0f;
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] += y[j];
  for (float* at = out; at != out + x_0 * x_1; ++at) *at = *at > 0 ? *at : 0;
}
