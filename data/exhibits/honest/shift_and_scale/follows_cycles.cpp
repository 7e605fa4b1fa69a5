// verdict: correct ok
// A rotation is a product of cycles: follows each of them, as many as the greatest common divisor.
#include <numeric>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t, int64_t, int64_t steps,
                       double alpha, bool flip) {
  const int64_t by = ((steps % x_1) + x_1) % x_1, cycles = std::gcd(by, x_1);
  for (int64_t i = 0; i < x_0; ++i)
    for (int64_t start = 0; start < cycles; ++start) {
      int64_t from = start;
      do {
        const int64_t to = (from + by) % x_1;
        out[i * x_1 + (flip ? x_1 - 1 - to : to)] = float(x[i * x_1 + from] * alpha);
        from = to;
      } while (from != start);
    }
}
