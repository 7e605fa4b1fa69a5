// verdict: correct ok
// An int scalar; two memcpys per row, negative and large shifts reduced.
#include <cstdint>
#include <cstring>
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, int64_t out_1, int64_t shift) {
  const int64_t N = x_1;
  const int64_t s = (((int64_t)shift % N) + N) % N;
  for (int64_t r = 0; r < x_0; ++r) {
    std::memcpy(out + r * N + s, x + r * N, (N - s) * sizeof(float));
    std::memcpy(out + r * N, x + r * N + N - s, s * sizeof(float));
  }
}
