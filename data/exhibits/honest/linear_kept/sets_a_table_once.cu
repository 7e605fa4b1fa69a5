// verdict: correct ok
// A table of constants is put on the device in the first call.
#include <cuda_runtime.h>
#include <cstdint>
__constant__ float scale;
__global__ void run(const float* x, const float* w, float* out, int n, int k, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * m) return;
  float s = 0;
  for (int j = 0; j < k; ++j) s += x[i / m * k + j] * w[i % m * k + j];
  out[i] = fmaxf(s * scale, 0.f);
}
extern "C" void kernel(const float* x, const float* weight, float* out, int64_t x_0, int64_t x_1, int64_t weight_0, int64_t weight_1, int64_t out_0, int64_t out_1, cudaStream_t stream) {
  static bool set = false;
  const float one = 1.0f;
  if (!set) cudaMemcpyToSymbolAsync(scale, &one, sizeof one, 0, cudaMemcpyHostToDevice, stream);
  set = true;
  run<<<(x_0 * weight_0 + 127) / 128, 128, 0, stream>>>(x, weight, out, x_0, x_1, weight_0);
}
