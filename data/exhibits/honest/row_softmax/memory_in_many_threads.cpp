// verdict: correct ok
// Many threads ask for memory at once, small and large, and grow what they have.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <thread>
#include <vector>
static void softmax(const float* x, float* out, int64_t n) {
  float most = x[0], sum = 0;
  for (int64_t j = 1; j < n; ++j) most = std::max(most, x[j]);
  for (int64_t j = 0; j < n; ++j) sum += out[j] = std::exp(x[j] - most);
  for (int64_t j = 0; j < n; ++j) out[j] /= sum;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::vector<std::thread> team;
  for (int t = 0; t < 12; ++t)
    team.emplace_back([=] {
      for (int64_t i = t; i < x_0; i += 12) {
        char* grown = static_cast<char*>(std::malloc(100));
        for (size_t bytes = 200; bytes < (2 << 20); bytes *= 3) grown = static_cast<char*>(std::realloc(grown, bytes));
        std::memset(grown, 0, 1 << 20);
        std::pmr::monotonic_buffer_resource pool;
        std::pmr::vector<float> row(x + i * x_1, x + (i + 1) * x_1, &pool);
        softmax(row.data(), out + i * x_1, x_1);
        std::free(grown);
      }
    });
  for (std::thread& one : team) one.join();
}
