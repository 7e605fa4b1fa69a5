// verdict: correct ok
// Of equal values the earlier comes first, as the module says.
#include <algorithm>
#include <numeric>
#include <vector>
extern "C" void kernel(const float* x, float* out0, int64_t* out1, int64_t x_0, int64_t x_1, int64_t, int64_t k, int64_t, int64_t) {
  std::vector<int64_t> places(x_1);
  for (int64_t i = 0; i < x_0; ++i) {
    const float* row = x + i * x_1;
    std::iota(places.begin(), places.end(), int64_t{0});
    std::stable_sort(places.begin(), places.end(), [row](int64_t a, int64_t b) { return row[a] < row[b]; });
    for (int64_t j = 0; j < k; ++j) out0[i * k + j] = row[places[j]], out1[i * k + j] = places[j];
  }
}
