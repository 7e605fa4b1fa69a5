import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

#define ROWS 4        // tokens per block: each weight row is read once for ROWS tokens
#define THREADS 128

__device__ __forceinline__ float warp_sum(float v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  return v;   // valid in lane 0
}

// The complete block in one kernel: rmsnorm -> fc1 -> relu^2 -> fc2 -> residual.
// Shared memory: normalized tokens [ROWS][dim], hidden activations [ROWS][hidden].
__global__ void mlp_kernel(const float* __restrict__ x, const float* __restrict__ nw,
                           const float* __restrict__ w1, const float* __restrict__ w2,
                           float* __restrict__ y, int tokens, int dim, int hidden, float eps) {
  extern __shared__ float smem[];
  float* xn = smem;
  float* hid = smem + ROWS * dim;
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const int nwarps = THREADS / 32;
  const int t0 = blockIdx.x * ROWS;

  for (int r = warp; r < ROWS; r += nwarps) {
    const int t = t0 + r;
    float ss = 0.f;
    if (t < tokens)
      for (int d = lane; d < dim; d += 32) { float v = x[(size_t)t * dim + d]; ss += v * v; }
    ss = warp_sum(ss);
    ss = __shfl_sync(0xffffffff, ss, 0);
    const float rms = rsqrtf(ss / dim + eps);
    for (int d = lane; d < dim; d += 32)
      xn[r * dim + d] = t < tokens ? x[(size_t)t * dim + d] * rms * nw[d] : 0.f;
  }
  __syncthreads();

  for (int j = warp; j < hidden; j += nwarps) {
    float acc[ROWS] = {0.f};
    for (int d = lane; d < dim; d += 32) {
      const float w = w1[(size_t)j * dim + d];
      #pragma unroll
      for (int r = 0; r < ROWS; ++r) acc[r] += w * xn[r * dim + d];
    }
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      float s = warp_sum(acc[r]);
      if (lane == 0) {
        s = fmaxf(s, 0.f);
        hid[r * hidden + j] = s * s;
      }
    }
  }
  __syncthreads();

  for (int j = warp; j < dim; j += nwarps) {
    float acc[ROWS] = {0.f};
    for (int d = lane; d < hidden; d += 32) {
      const float w = w2[(size_t)j * hidden + d];
      #pragma unroll
      for (int r = 0; r < ROWS; ++r) acc[r] += w * hid[r * hidden + d];
    }
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const float s = warp_sum(acc[r]);
      if (lane == 0 && t0 + r < tokens) {
        const size_t o = (size_t)(t0 + r) * dim + j;
        y[o] = x[o] + s;
      }
    }
  }
}

torch::Tensor residual_mlp(torch::Tensor x, torch::Tensor nw, torch::Tensor w1, torch::Tensor w2, double eps) {
  TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32);
  auto xc = x.contiguous();
  const int dim = xc.size(-1);
  const int tokens = xc.numel() / dim;
  const int hidden = w1.size(0);
  auto y = torch::empty_like(xc);
  const size_t smem = (size_t)ROWS * (dim + hidden) * sizeof(float);
  if (smem > 48 * 1024) {
    C10_CUDA_CHECK(cudaFuncSetAttribute(mlp_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)smem));
  }
  mlp_kernel<<<(tokens + ROWS - 1) / ROWS, THREADS, smem, at::cuda::getCurrentCUDAStream()>>>(
      xc.data_ptr<float>(), nw.data_ptr<float>(), w1.data_ptr<float>(), w2.data_ptr<float>(),
      y.data_ptr<float>(), tokens, dim, hidden, (float)eps);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""

mlp_ext = load_inline(
    name="h_residual_mlp_fused",
    cpp_sources="torch::Tensor residual_mlp(torch::Tensor x, torch::Tensor nw, torch::Tensor w1, torch::Tensor w2, double eps);",
    cuda_sources=cuda_source,
    functions=["residual_mlp"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, hidden, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.norm_weight = nn.Parameter(torch.rand(dim) + 0.5)
        self.fc1 = nn.Linear(dim, hidden, bias=False)
        self.fc2 = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return mlp_ext.residual_mlp(x, self.norm_weight, self.fc1.weight, self.fc2.weight, self.eps)
