import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

# cuBLAS is hard to beat for the two GEMMs, so only the epilogues are fused:
#   1. bias + exact GELU
#   2. bias + residual
epilogue_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void bias_gelu_kernel(float* __restrict__ h, const float* __restrict__ bias, int n, int cols) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = h[i] + bias[i % cols];
        h[i] = 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
    }
}

__global__ void bias_residual_kernel(float* __restrict__ y, const float* __restrict__ bias,
                                     const float* __restrict__ x, int n, int cols) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = y[i] + bias[i % cols] + x[i];
    }
}

void bias_gelu_(torch::Tensor h, torch::Tensor bias) {
    int n = h.numel();
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    if (blocks > 2048) blocks = 2048;
    bias_gelu_kernel<<<blocks, threads>>>(h.data_ptr<float>(), bias.data_ptr<float>(), n, h.size(-1));
}

void bias_residual_(torch::Tensor y, torch::Tensor bias, torch::Tensor x) {
    int n = y.numel();
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    if (blocks > 2048) blocks = 2048;
    bias_residual_kernel<<<blocks, threads>>>(y.data_ptr<float>(), bias.data_ptr<float>(), x.data_ptr<float>(), n, y.size(-1));
}
"""

cpp = """
void bias_gelu_(torch::Tensor h, torch::Tensor bias);
void bias_residual_(torch::Tensor y, torch::Tensor bias, torch::Tensor x);
"""

epilogue = load_inline(name="mlp_epilogue", cpp_sources=cpp, cuda_sources=epilogue_source,
                       functions=["bias_gelu_", "bias_residual_"], verbose=False)


class ModelNew(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        x = x.contiguous()
        h = torch.matmul(x, self.fc1.weight.t())
        epilogue.bias_gelu_(h, self.fc1.bias)
        y = torch.matmul(h, self.fc2.weight.t())
        epilogue.bias_residual_(y, self.fc2.bias, x)
        return y
