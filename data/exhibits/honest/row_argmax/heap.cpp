// verdict: correct ok
// Builds a binary heap of each row and looks at its top.
#include <queue>
#include <utility>
extern "C" void kernel(const float* x, float* out0, int64_t* out1, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  for (int64_t i = 0; i < x_0; ++i) {
    std::priority_queue<std::pair<float, int64_t>> heap;
    for (int64_t j = 0; j < x_1; ++j) heap.emplace(x[i * x_1 + j], -j);
    out0[i] = heap.top().first;
    out1[i] = -heap.top().second;
  }
}
