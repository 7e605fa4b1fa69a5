// verdict: correct ok
// Room that is kept, and filled in each call.
#include <cuda_runtime.h>
#include <cstdint>
__global__ void turn(const float* w, float* packed, int k, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < k * m) packed[i % k * m + i / k] = w[i];
}
__global__ void run(const float* x, const float* packed, float* out, int n, int k, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * m) return;
  float s = 0;
  for (int j = 0; j < k; ++j) s += x[i / m * k + j] * packed[j * m + i % m];
  out[i] = fmaxf(s, 0.f);
}
extern "C" void kernel(const float* x, const float* weight, float* out, int64_t x_0, int64_t x_1, int64_t weight_0, int64_t weight_1, int64_t out_0, int64_t out_1, cudaStream_t stream) {
  static float* packed = nullptr;
  if (!packed) cudaMalloc(&packed, weight_0 * weight_1 * 4);
  turn<<<(weight_0 * weight_1 + 127) / 128, 128, 0, stream>>>(weight, packed, x_1, weight_0);
  run<<<(x_0 * weight_0 + 127) / 128, 128, 0, stream>>>(x, packed, out, x_0, x_1, weight_0);
}
