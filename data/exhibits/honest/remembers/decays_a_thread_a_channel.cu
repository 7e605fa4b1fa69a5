// verdict: correct ok
// A thread a channel.
__global__ void scan(const float* x, const float* decay, float* out, int64_t T, int64_t D) {
  const int64_t d = threadIdx.x;
  const float keep = decay[d];
  const float* p = x + blockIdx.x * T * D + d;
  float* o = out + blockIdx.x * T * D + d;
  float h = 0;
  for (int64_t t = 0; t < T; ++t) {
    h = p[t * D] + keep * h;
    o[t * D] = h;
  }
}
extern "C" void kernel(const float* x, const float* decay, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t decay_0, int64_t out_0, int64_t out_1, int64_t out_2, cudaStream_t stream) {
  scan<<<x_0, x_2, 0, stream>>>(x, decay, out, x_1, x_2);
}
