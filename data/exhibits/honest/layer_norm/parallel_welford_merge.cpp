// verdict: correct ok
// Welford states of eight strands are merged with Chan's formula.
#include <cmath>
struct Moments {
  float n = 0, mean = 0, m2 = 0;
  void take(float v) {
    n += 1;
    const float delta = v - mean;
    mean += delta / n;
    m2 += delta * (v - mean);
  }
  Moments operator+(const Moments& o) const {
    if (o.n == 0) return *this;
    if (n == 0) return o;
    const float all = n + o.n, delta = o.mean - mean;
    Moments sum;
    sum.n = all, sum.mean = mean + delta * o.n / all, sum.m2 = m2 + o.m2 + delta * delta * n * o.n / all;
    return sum;
  }
};
extern "C" void kernel(const float* x, const float* weight, const float* bias, float* out, int64_t x_0,
                       int64_t x_1, int64_t, int64_t, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    Moments strands[8], all;
    for (int64_t j = 0; j < x_1; ++j) strands[j % 8].take(x[i * x_1 + j]);
    for (const Moments& one : strands) all = all + one;
    const float scale = 1 / std::sqrt(all.m2 / all.n + 1e-5f);
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = (x[i * x_1 + j] - all.mean) * scale * weight[j] + bias[j];
  }
}
