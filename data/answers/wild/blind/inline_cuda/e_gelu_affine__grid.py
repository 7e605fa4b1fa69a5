import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

template <typename scalar_t>
__global__ void gelu_affine_kernel(const scalar_t* x, const scalar_t* scale, const scalar_t* shift,
                                   scalar_t* out, const size_t size, const int features) {
    const size_t step = (size_t)blockDim.x * gridDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
        const int f = i % features;
        const scalar_t v = x[i] * scale[f] + shift[f];
        const scalar_t u = scalar_t(0.7978845608028654) * (v + scalar_t(0.044715) * v * v * v);
        // 0.5 * v * (1 + tanh(u)) == v * sigmoid(2u)
        out[i] = v / (scalar_t(1) + exp(scalar_t(-2) * u));
    }
}

torch::Tensor gelu_affine_cuda(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto out = torch::empty_like(x);
    const size_t size = x.numel();
    const int threads = 256;
    int blocks = (size + threads - 1) / threads;
    if (blocks > 65535) blocks = 65535;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gelu_affine_cuda", ([&] {
        gelu_affine_kernel<scalar_t><<<blocks, threads>>>(
            x.data_ptr<scalar_t>(), scale.data_ptr<scalar_t>(), shift.data_ptr<scalar_t>(),
            out.data_ptr<scalar_t>(), size, x.size(-1));
    }));
    return out;
}
"""

cpp_source = "torch::Tensor gelu_affine_cuda(torch::Tensor x, torch::Tensor scale, torch::Tensor shift);"

# Compile the inline CUDA code
gelu_affine = load_inline(
    name="gelu_affine_grid",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["gelu_affine_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    def __init__(self, features):
        super(ModelNew, self).__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(features))
        self.shift = nn.Parameter(torch.randn(features))
        self.gelu_affine = gelu_affine

    def forward(self, x):
        return self.gelu_affine.gelu_affine_cuda(x.contiguous(), self.scale, self.shift)
