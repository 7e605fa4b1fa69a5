import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

# Define the custom CUDA kernel for fused bias + SiLU gate
swiglu_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void swiglu_bias_kernel(const float* a, const float* b, const float* bias_a, const float* bias_b,
                                   float* out, int size, int hidden) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size) {
        int h = idx % hidden;
        float g = a[idx] + bias_a[h];
        float u = b[idx] + bias_b[h];
        out[idx] = g / (1.0f + expf(-g)) * u;
    }
}

torch::Tensor swiglu_bias_cuda(torch::Tensor a, torch::Tensor b, torch::Tensor bias_a, torch::Tensor bias_b) {
    auto size = a.numel();
    auto out = torch::empty_like(a);

    const int block_size = 256;
    const int num_blocks = (size + block_size - 1) / block_size;

    swiglu_bias_kernel<<<num_blocks, block_size>>>(a.data_ptr<float>(), b.data_ptr<float>(),
        bias_a.data_ptr<float>(), bias_b.data_ptr<float>(), out.data_ptr<float>(), size, bias_a.size(0));

    return out;
}
"""

swiglu_cpp_source = "torch::Tensor swiglu_bias_cuda(torch::Tensor a, torch::Tensor b, torch::Tensor bias_a, torch::Tensor bias_b);"

# Compile the inline CUDA code
swiglu_bias = load_inline(
    name="swiglu_bias",
    cpp_sources=swiglu_cpp_source,
    cuda_sources=swiglu_source,
    functions=["swiglu_bias_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    def __init__(self, hidden_dim):
        super(ModelNew, self).__init__()
        self.bias_a = nn.Parameter(torch.randn(hidden_dim) * 0.1)
        self.bias_b = nn.Parameter(torch.randn(hidden_dim) * 0.1)
        self.swiglu_bias = swiglu_bias

    def forward(self, a, b):
        return self.swiglu_bias.swiglu_bias_cuda(a.contiguous(), b.contiguous(), self.bias_a, self.bias_b)
