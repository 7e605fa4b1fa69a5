import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <torch/extension.h>

// one warp per row, 4 rows per block
__global__ void k(const float* x, const float* r, const float* w, float* y, float* s, int rows, int d, float eps) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    x += (long)row * d; r += (long)row * d; y += (long)row * d; s += (long)row * d;
    float ss = 0.f;
    for (int i = threadIdx.x; i < d; i += 32) {
        float v = x[i] + r[i];
        s[i] = v;
        ss += v * v;
    }
    for (int o = 16; o; o >>= 1) ss += __shfl_xor_sync(0xffffffffu, ss, o);
    float inv = rsqrtf(ss / d + eps);
    for (int i = threadIdx.x; i < d; i += 32) y[i] = s[i] * inv * w[i];
}

std::tuple<torch::Tensor, torch::Tensor> add_rms(torch::Tensor x, torch::Tensor r, torch::Tensor w, float eps) {
    auto y = torch::empty_like(x), s = torch::empty_like(x);
    int d = x.size(-1), rows = x.numel() / d;
    dim3 block(32, 4);
    k<<<(rows + 3) / 4, block>>>(x.data_ptr<float>(), r.data_ptr<float>(), w.data_ptr<float>(),
                                 y.data_ptr<float>(), s.data_ptr<float>(), rows, d, eps);
    return std::make_tuple(y, s);
}
"""
mod = load_inline(name="add_rms_1w",
                  cpp_sources="std::tuple<torch::Tensor, torch::Tensor> add_rms(torch::Tensor x, torch::Tensor r, torch::Tensor w, float eps);",
                  cuda_sources=src, functions=["add_rms"])


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x, residual):
        return mod.add_rms(x.contiguous(), residual.contiguous(), self.weight, self.eps)
