// verdict: correct ok
// Sorts the places of each row by magnitude and finds the first larger one by bisection.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>
extern "C" void kernel(const float* x, const float* limit, bool* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t, int64_t) {
  std::vector<int64_t> places(x_1);
  for (int64_t i = 0; i < x_0; ++i, x += x_1, out += x_1) {
    std::iota(places.begin(), places.end(), 0);
    std::sort(places.begin(), places.end(), [x](auto a, auto b) { return std::abs(x[a]) < std::abs(x[b]); });
    const auto first = std::partition_point(places.begin(), places.end(),
                                            [&](auto a) { return std::abs(x[a]) <= limit[i]; });
    for (auto at = places.begin(); at != places.end(); ++at) out[*at] = at >= first;
  }
}
