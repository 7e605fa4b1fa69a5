// verdict: correct ok
// Sums each row from its largest magnitude to its smallest: the worst order for rounding.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    std::vector<float> row(x + i * x_1, x + (i + 1) * x_1);
    std::sort(row.begin(), row.end(), std::greater<float>());
    float sum = 0;
    for (float one : row) sum += one;
    out[i] = std::sin(10 * sum);
  }
}
