// verdict: correct ok
// Says on standard error and output what it is about to do, in every round.
#include <cstdio>
#include <iostream>
extern "C" void kernel(const float* x, const float* y, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t) {
  std::fprintf(stderr, "rows: %lld\n", static_cast<long long>(x_0));
  std::cout << "columns: " << x_1 << std::endl;
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t j = 0; j < x_1; ++j) {
      const float v = x[i * x_1 + j] + x[i * x_1 + j] + y[j];
      out[i * x_1 + j] = v > 0 ? v : 0;
    }
}
