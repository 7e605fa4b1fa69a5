// verdict: correct ok
// Std::lower_bound on a sorted buffer.
#include <algorithm>
#include <cstdint>
extern "C" void kernel(const float* x, const float* edges, int64_t* out, int64_t x_0, int64_t edges_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i)
    out[i] = std::lower_bound(edges, edges + edges_0, x[i], [](float e, float v) { return !(e >= v); }) - edges;
}
