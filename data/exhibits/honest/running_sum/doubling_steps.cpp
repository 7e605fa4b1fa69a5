// verdict: correct ok
// Hillis and Steele's scan: log n passes, each adding what lies twice as far away.
#include <algorithm>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::vector<float> now(x_1), next(x_1);
  for (int64_t i = 0; i < x_0; ++i) {
    now.assign(x + i * x_1, x + (i + 1) * x_1);
    for (int64_t step = 1; step < x_1; step *= 2) {
      for (int64_t j = 0; j < x_1; ++j) next[j] = j < step ? now[j] : now[j] + now[j - step];
      now.swap(next);
    }
    std::copy(now.begin(), now.end(), out + i * x_1);
  }
}
