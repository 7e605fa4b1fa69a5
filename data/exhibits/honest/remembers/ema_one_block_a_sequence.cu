// verdict: correct ok
// A block of threads a sequence.
__global__ void averages(const float* x, float* out, int64_t T, int64_t D, int64_t steps, int64_t before) {
  const int64_t d = threadIdx.x, start = blockIdx.y * steps;
  const float* p = x + blockIdx.x * T * D + d;
  float* o = out + blockIdx.x * T * D + d;
  float h = 0;
  for (int64_t t = start > before ? start - before : 0; t < start + steps && t < T; ++t) {
    h = 0.5f * p[t * D] + 0.5f * h;
    if (t >= start) o[t * D] = h;
  }
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t x_2, int64_t out_0, int64_t out_1, int64_t out_2, cudaStream_t stream) {
  averages<<<x_0, x_2, 0, stream>>>(x, out, x_1, x_2, x_1, 0);
}
