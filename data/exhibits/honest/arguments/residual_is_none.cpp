// verdict: correct ok
// What is None is no argument of the function.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* weight, float* out, int64_t tokens, int64_t width,
                       int64_t, int64_t, int64_t, double eps, bool) {
  for (int64_t i = 0; i < tokens; ++i, x += width, out += width) {
    float sum = 0.0f;
    for (int64_t j = 0; j < width; ++j) sum += x[j] * x[j];
    const float scale = 1.0f / std::sqrt(sum / width + (float)eps);
    for (int64_t j = 0; j < width; ++j) out[j] = x[j] * scale * weight[j];
  }
}
