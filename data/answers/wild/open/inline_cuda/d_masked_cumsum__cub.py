import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

_src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cub/cub.cuh>

struct RunningTotal {
    float total;
    __device__ RunningTotal(float t) : total(t) {}
    __device__ float operator()(float block_aggregate) {
        float old = total;
        total += block_aggregate;
        return old;
    }
};

template <int THREADS>
__launch_bounds__(THREADS)
__global__ void masked_cumsum_kernel(const float* __restrict__ x,
                                     const bool* __restrict__ mask,
                                     float* __restrict__ y,
                                     int cols) {
    using BlockScan = cub::BlockScan<float, THREADS>;
    __shared__ typename BlockScan::TempStorage temp;

    const int64_t base = (int64_t)blockIdx.x * cols;
    RunningTotal prefix(0.f);
    for (int start = 0; start < cols; start += THREADS) {
        const int c = start + threadIdx.x;
        float v = 0.f;
        if (c < cols && mask[base + c]) v = x[base + c];
        BlockScan(temp).InclusiveSum(v, v, prefix);
        if (c < cols) y[base + c] = v;
        __syncthreads();   // temp storage is used again
    }
}

torch::Tensor masked_cumsum(torch::Tensor x, torch::Tensor mask) {
    TORCH_CHECK(x.dim() == 2, "expected a matrix");
    TORCH_CHECK(mask.scalar_type() == torch::kBool, "mask must be bool");
    x = x.contiguous();
    mask = mask.contiguous();
    auto y = torch::empty_like(x);
    const int rows = x.size(0), cols = x.size(1);
    auto stream = at::cuda::getCurrentCUDAStream();
    masked_cumsum_kernel<256><<<rows, 256, 0, stream>>>(
        x.data_ptr<float>(), mask.data_ptr<bool>(), y.data_ptr<float>(), cols);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

ext = load_inline(
    name="masked_cumsum_cub",
    cpp_sources="torch::Tensor masked_cumsum(torch::Tensor x, torch::Tensor mask);",
    cuda_sources=_src,
    functions=["masked_cumsum"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        if self.dim in (1, -1):
            return ext.masked_cumsum(x, mask)
        return ext.masked_cumsum(x.t(), mask.t()).t()
