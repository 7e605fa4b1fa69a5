import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import hashlib

_SRC = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void chain_kernel(const float* __restrict__ x, const float* __restrict__ params, float* __restrict__ y,
                             int n, int d, int num_blocks) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int c = i % d;
    float v = x[i];
    // params is (num_blocks, 2, d): scale, then shift
    for (int b = 0; b < num_blocks; ++b) {
        const float s = __ldg(params + (2 * b) * d + c);
        const float t = __ldg(params + (2 * b + 1) * d + c);
        v += tanhf(fmaf(v, s, t));
    }
    y[i] = v;
}

torch::Tensor chain_forward(torch::Tensor x, torch::Tensor params) {
    TORCH_CHECK(x.is_contiguous() && params.is_contiguous());
    TORCH_CHECK(params.dim() == 3 && params.size(1) == 2 && params.size(2) == x.size(-1), "bad parameter block");
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int threads = 256;
    chain_kernel<<<(n + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), params.data_ptr<float>(), y.data_ptr<float>(), n, x.size(-1), params.size(0));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &chain_forward, "residual tanh chain forward");
}
"""

_name = "a_tanh_chain_" + hashlib.md5(_SRC.encode()).hexdigest()[:8]
_chain = load_inline(name=_name, cpp_sources="", cuda_sources=_SRC, verbose=False)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(dim))
        self.shift = nn.Parameter(0.1 * torch.randn(dim))


class ModelNew(nn.Module):
    def __init__(self, dim, num_blocks):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim) for _ in range(num_blocks)])

    def forward(self, x):
        params = torch.stack([torch.stack((b.scale, b.shift)) for b in self.blocks])
        return _chain.forward(x.contiguous(), params)
