// verdict: correct ok
// Float32 inside, rounded once.
#include <cuda_bf16.h>
__global__ void gelu(const __nv_bfloat16* x, __nv_bfloat16* out, int64_t count) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float one = __bfloat162float(x[i]);
  out[i] = __float2bfloat16(0.5f * one * (1 + erff(one * 0.70710678f)));
}
extern "C" void kernel(const __nv_bfloat16* x, __nv_bfloat16* out, int64_t x_0, int64_t x_1, int64_t, int64_t, cudaStream_t stream) {
  gelu<<<(x_0 * x_1 + 127) / 128, 128, 0, stream>>>(x, out, x_0 * x_1);
}
