// verdict: correct ok
// Frequencies in a static local vector, filled at first use and grown when a wider input comes.
#include <cmath>
#include <cstdint>
#include <vector>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t out_0, int64_t out_1, int64_t out_2) {
  static std::vector<float> freq;
  while ((int64_t)freq.size() < x_2) freq.push_back(std::exp((float)freq.size() * -0.25f));
  for (int64_t b = 0; b < x_0; ++b)
    for (int64_t s = 0; s < x_1; ++s)
      for (int64_t d = 0; d < x_2; ++d) {
        int64_t i = (b * x_1 + s) * x_2 + d;
        out[i] = x[i] + std::sin((float)s * freq[d]);
      }
}
