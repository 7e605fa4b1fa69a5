import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

block_source = r"""
#include <torch/extension.h>
#include <cmath>

torch::Tensor block_forward(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t D = x.size(-1);
    const int64_t N = x.numel() / D;
    const float* xp = x.data_ptr<float>();
    const float* a = scale.data_ptr<float>();
    const float* b = shift.data_ptr<float>();
    float* yp = y.data_ptr<float>();
    for (int64_t n = 0; n < N; ++n)
        for (int64_t d = 0; d < D; ++d) {
            const float v = xp[n * D + d];
            yp[n * D + d] = v + std::tanh(v * a[d] + b[d]);
        }
    return y;
}
"""


class Block(nn.Module):
    def __init__(self, dim, index):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(dim))
        self.shift = nn.Parameter(0.1 * torch.randn(dim))
        self.ext = load_inline(
            name=f"a_tanh_block_{index}",
            cpp_sources=block_source,
            functions=["block_forward"],
            extra_cflags=["-O3"],
        )

    def forward(self, x):
        return self.ext.block_forward(x, self.scale, self.shift)


class ModelNew(nn.Module):
    def __init__(self, dim, num_blocks):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim, i) for i in range(num_blocks)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
