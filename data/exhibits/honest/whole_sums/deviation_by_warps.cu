// verdict: correct ok
// A warp for each row, two passes in float32.
#include <cuda_bf16.h>
__device__ float of_warp(float s) {
  for (int step = 16; step; step /= 2) s += __shfl_xor_sync(~0u, s, step);
  return s;
}
__global__ void rows(const __nv_bfloat16* x, __nv_bfloat16* out, int64_t n, int64_t taken) {
  float s = 0.0f, v = 0.0f;
  x += blockIdx.x * n;
  for (int64_t j = threadIdx.x; j < taken; j += 32) s += __bfloat162float(x[j]);
  const float mean = of_warp(s) / taken;
  for (int64_t j = threadIdx.x; j < taken; j += 32) v += (__bfloat162float(x[j]) - mean) * (__bfloat162float(x[j]) - mean);
  v = of_warp(v);
  if (!threadIdx.x) out[blockIdx.x] = __float2bfloat16(sqrtf(v / (taken - 1)));
}
extern "C" void kernel(const __nv_bfloat16* x, __nv_bfloat16* out, int64_t B, int64_t N, int64_t, cudaStream_t stream) {
  rows<<<B, 32, 0, stream>>>(x, out, N, N);
}
