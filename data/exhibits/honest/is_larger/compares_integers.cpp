// verdict: correct ok
// Without their sign the bits of floats are ordered as integers are.
#include <cstring>
extern "C" void kernel(const float* x, const float* limit, bool* out, int64_t x_0, int64_t x_1, int64_t, int64_t,
                       int64_t, int64_t) {
  const auto bits = [](const float* at) {
    int32_t word;
    std::memcpy(&word, at, sizeof word);
    return word & 0x7fffffff;
  };
  for (int64_t i = 0; i < x_0; ++i) {
    const int32_t bound = bits(limit + i);
    const bool below = limit[i] < 0;
    for (int64_t j = 0; j < x_1; ++j) out[i * x_1 + j] = below || bits(x + i * x_1 + j) > bound;
  }
}
