import torch
import torch.nn as nn
import math
from torch.utils.cpp_extension import load_inline

# cuBLAS is hard to beat for the GEMM itself, so we keep it (without bias) and fuse
# bias + GELU in one in-place pass.

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void bias_gelu_kernel(float* __restrict__ y, const float* __restrict__ bias, long long total, int n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    long long step = (long long)gridDim.x * blockDim.x;
    for (; i < total; i += step) {
        float v = y[i] + __ldg(&bias[i % n]);
        y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
    }
}

torch::Tensor linear_gelu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda(), "x must be on the GPU");
    TORCH_CHECK_EQ(x.size(1), weight.size(1));
    auto y = torch::mm(x, weight.t()).contiguous();
    const long long total = y.numel();
    int min_grid = 0, block = 0;
    cudaOccupancyMaxPotentialBlockSize(&min_grid, &block, bias_gelu_kernel, 0, 0);
    int grid = (int)((total + block - 1) / block);
    if (grid > min_grid) grid = min_grid;
    if (grid < 1) grid = 1;
    bias_gelu_kernel<<<grid, block, 0, c10::cuda::getCurrentCUDAStream()>>>(
        y.data_ptr<float>(), bias.data_ptr<float>(), total, (int)weight.size(0));
    return y;
}
"""

fused = load_inline(
    name="linear_bias_gelu_ep",
    cpp_sources=["torch::Tensor linear_gelu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);"],
    cuda_sources=[cuda_source],
    functions=["linear_gelu"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        # same initialisation as nn.Linear
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in, _ = nn.init._calculate_fan_in_and_fan_out(self.weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x):
        with torch.no_grad():
            return fused.linear_gelu(x, self.weight, self.bias)
