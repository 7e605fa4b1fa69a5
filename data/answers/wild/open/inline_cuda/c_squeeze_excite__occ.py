import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

se_src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <algorithm>

__global__ void global_mean(const float* __restrict__ x, float* __restrict__ pooled, int hw) {
    const float* p = x + (size_t)blockIdx.x * hw;
    float s = 0.f;
    for (int i = threadIdx.x; i < hw; i += blockDim.x) s += p[i];
    __shared__ float warp_part[4];
    for (int d = 16; d >= 1; d >>= 1) s += __shfl_down_sync(~0u, s, d);
    if ((threadIdx.x & 31) == 0) warp_part[threadIdx.x >> 5] = s;
    __syncthreads();
    if (threadIdx.x == 0) pooled[blockIdx.x] = (warp_part[0] + warp_part[1] + warp_part[2] + warp_part[3]) / hw;
}

// one block per sample; shared: pooled[C], hidden[R]
__global__ void excite(const float* __restrict__ pooled, const float* __restrict__ w1, const float* __restrict__ b1,
                       const float* __restrict__ w2, const float* __restrict__ b2, float* __restrict__ gate, int C, int R) {
    extern __shared__ float sm[];
    float* p = sm;
    float* h = sm + C;
    for (int c = threadIdx.x; c < C; c += blockDim.x) p[c] = pooled[blockIdx.x * C + c];
    __syncthreads();
    for (int r = threadIdx.x; r < R; r += blockDim.x) {
        float a = b1[r];
        for (int c = 0; c < C; ++c) a += w1[r * C + c] * p[c];
        h[r] = fmaxf(a, 0.f);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        float a = b2[c];
        for (int r = 0; r < R; ++r) a += w2[c * R + r] * h[r];
        gate[blockIdx.x * C + c] = 1.f / (1.f + expf(-a));
    }
}

__global__ void scale_planes(const float* __restrict__ x, const float* __restrict__ gate, float* __restrict__ y, int total, int hw) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x)
        y[i] = x[i] * gate[i / hw];
}

torch::Tensor se_forward(torch::Tensor x, torch::Tensor w1, torch::Tensor b1, torch::Tensor w2, torch::Tensor b2) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    const int N = x.size(0), C = x.size(1), hw = x.size(2) * x.size(3), R = w1.size(0);
    auto pooled = torch::empty({N, C}, x.options());
    auto gate = torch::empty({N, C}, x.options());
    auto y = torch::empty_like(x);
    auto stream = at::cuda::getCurrentCUDAStream();
    global_mean<<<N * C, 128, 0, stream>>>(x.data_ptr<float>(), pooled.data_ptr<float>(), hw);
    excite<<<N, 128, (C + R) * sizeof(float), stream>>>(pooled.data_ptr<float>(), w1.data_ptr<float>(), b1.data_ptr<float>(),
                                                        w2.data_ptr<float>(), b2.data_ptr<float>(), gate.data_ptr<float>(), C, R);
    const int total = x.numel();
    int min_grid = 0, block = 256;
    if (cudaOccupancyMaxPotentialBlockSize(&min_grid, &block, scale_planes, 0, 0) != cudaSuccess || block <= 0) block = 256;
    int grid = std::max(1, std::min((total + block - 1) / block, std::max(min_grid, 1) * 8));
    scale_planes<<<grid, block, 0, stream>>>(x.data_ptr<float>(), gate.data_ptr<float>(), y.data_ptr<float>(), total, hw);
    return y;
}
"""

se = load_inline(
    name="squeeze_excite_occ",
    cpp_sources="torch::Tensor se_forward(torch::Tensor x, torch::Tensor w1, torch::Tensor b1, torch::Tensor w2, torch::Tensor b2);",
    cuda_sources=se_src,
    functions=["se_forward"],
    extra_cuda_cflags=["-O3", "-lineinfo"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, reduced):
        super().__init__()
        self.fc1 = nn.Linear(channels, reduced)
        self.fc2 = nn.Linear(reduced, channels)

    def forward(self, x):
        return se.se_forward(x.contiguous(), self.fc1.weight, self.fc1.bias, self.fc2.weight, self.fc2.bias)
