import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SHIFT_CPP = "torch::Tensor shift_block(torch::Tensor x, torch::Tensor mix);"

SHIFT_CUDA = """
#include <torch/extension.h>

__global__ void shift_block_kernel(const float* __restrict__ x, const float* __restrict__ mix,
                                   float* __restrict__ y, int S, int D, int total) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int d = i % D;
        int s = (i / D) % S;
        float cur = x[i];
        float prev = s > 0 ? x[i - D] : 0.0f;
        float m = mix[d];
        y[i] = cur + 0.1f * tanhf(cur * m + prev * (1.0f - m));
    }
}

torch::Tensor shift_block(torch::Tensor x, torch::Tensor mix) {
    auto y = torch::empty_like(x);
    int total = x.numel();
    int blocks = std::min((total + 255) / 256, 1024);
    shift_block_kernel<<<blocks, 256>>>(x.data_ptr<float>(), mix.data_ptr<float>(), y.data_ptr<float>(),
                                        x.size(1), x.size(2), total);
    return y;
}
"""


class FusedShiftBlock(nn.Module):
    def __init__(self, dim, index):
        super().__init__()
        self.mix = nn.Parameter(torch.rand(dim))
        self.op = load_inline(
            name=f"shift_block_{index}",
            cpp_sources=SHIFT_CPP,
            cuda_sources=SHIFT_CUDA,
            functions=["shift_block"],
            verbose=False,
        )

    def forward(self, x):
        return self.op.shift_block(x, self.mix)


class ModelNew(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = nn.ModuleList([FusedShiftBlock(dim, i) for i in range(depth)])

    def forward(self, x):
        x = x.contiguous()
        for block in self.blocks:
            x = block(x)
        return x
