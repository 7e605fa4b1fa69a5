// verdict: correct ok
// Sums are kept on the device, and zeroed in each call.
#include <cuda_runtime.h>
#include <cstdint>
__global__ void run(const float* x, const float* w, float* sums, float* out, int n, int k, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * m) return;
  float s = 0;
  for (int j = 0; j < k; ++j) s += x[i / m * k + j] * w[i % m * k + j];
  sums[i] += s;
  out[i] = fmaxf(sums[i], 0.f);
}
extern "C" void kernel(const float* x, const float* weight, float* out, int64_t x_0, int64_t x_1, int64_t weight_0, int64_t weight_1, int64_t out_0, int64_t out_1, cudaStream_t stream) {
  static float* sums = nullptr;
  if (!sums) cudaMalloc(&sums, x_0 * weight_0 * 4);
  cudaMemsetAsync(sums, 0, x_0 * weight_0 * 4, stream);
  run<<<(x_0 * weight_0 + 127) / 128, 128, 0, stream>>>(x, weight, sums, out, x_0, x_1, weight_0);
}
