// verdict: correct ok
// A problem that makes its inputs on a GPU.
#include <cuda_runtime.h>
#include <cstdint>
__global__ void both(const float* x, const float* y, float* out, int64_t count) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = fmaxf(x[i], 0.0f) + 0.5f * y[i];
}
extern "C" void kernel(const float* x, const float* y, float* out, int64_t rows, int64_t columns, int64_t, int64_t,
                       int64_t, int64_t, cudaStream_t stream) {
  const int64_t count = rows * columns;
  both<<<(count + 255) / 256, 256, 0, stream>>>(x, y, out, count);
}
