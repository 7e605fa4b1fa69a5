// verdict: correct ok
// Counts edges at most x instead of sorting and searching.
#include <cmath>
#include <cstdint>
extern "C" void kernel(const float* x, const float* edges, int64_t* out, int64_t x_0, int64_t edges_0, int64_t out_0) {
  for (int64_t i = 0; i < x_0; ++i) {
    int64_t c = 0;
    for (int64_t k = 0; k < edges_0; ++k) c += edges[k] <= x[i] || std::isnan(x[i]);
    out[i] = c;
  }
}
