// verdict: correct ok
// A thread a pair, in float64.
__global__ void larger(const double* x, const double* y, double* out, int64_t n) {
  const int64_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = x[i] > y[i] ? 2 * x[i] : y[i] - 1;
}
extern "C" void kernel(const double* x, const double* y, double* out, int64_t x_0, int64_t x_1, int64_t y_0, int64_t y_1, int64_t out_0, int64_t out_1, cudaStream_t stream) {
  const int64_t n = x_0 * x_1;
  larger<<<(n + 255) / 256, 256, 0, stream>>>(x, y, out, n);
}
