// verdict: correct ok
// Goes through the rows in an order that a generator draws, seeded by the machine.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  static std::mt19937 generator{std::random_device{}()};
  std::vector<int64_t> order(x_0);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), generator);
  for (int64_t i : order) softmax(x + i * x_1, out + i * x_1, x_1);
}
