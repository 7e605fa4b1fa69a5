// verdict: correct ok
// An unstable sort of each column.
#include <algorithm>
#include <numeric>
#include <vector>
extern "C" void kernel(const float* x, int32_t* out, int64_t x_0, int64_t x_1, int64_t, int64_t) {
  std::vector<int32_t> places(x_0);
  for (int64_t c = 0; c < x_1; ++c) {
    std::iota(places.begin(), places.end(), 0);
    std::sort(places.begin(), places.end(), [=](int a, int b) { return x[a * x_1 + c] > x[b * x_1 + c]; });
    for (int64_t i = 0; i < x_0; ++i) out[i * x_1 + c] = places[i];
  }
}
