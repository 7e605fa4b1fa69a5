// verdict: correct ok
__device__ float scratch[128];
__global__ void squares(const float* x, float* out, int size) {
  float v = 0.0f;
  for (int i = threadIdx.x; i < size; i += 128) v += x[i] * x[i];
  scratch[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x) return;
  float all = 0.0f;
  for (int i = 0; i < 128; ++i) all += scratch[i];
  *out = all;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, cudaStream_t stream) {
  squares<<<1, 128, 0, stream>>>(x, out, x_0 * x_1);
}
