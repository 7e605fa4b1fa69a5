import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

l2_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void l2norm_kernel(
    const torch::PackedTensorAccessor32<float, 4, torch::RestrictPtrTraits> x,
    torch::PackedTensorAccessor32<float, 4, torch::RestrictPtrTraits> y,
    float scale, float eps)
{
    const int H = x.size(2), W = x.size(3), C = x.size(1);
    const int n = blockIdx.y;
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= H * W) return;
    const int h = p / W;
    const int w = p - h * W;
    float ss = 0.0f;
    for (int c = 0; c < C; c++) {
        const float v = x[n][c][h][w];
        ss += v * v;
    }
    const float f = scale / fmaxf(sqrtf(ss), eps);
    for (int c = 0; c < C; c++) y[n][c][h][w] = x[n][c][h][w] * f;
}

// strided inputs are fine, the accessors carry the strides
torch::Tensor l2norm(torch::Tensor x, double scale) {
    TORCH_CHECK(x.dim() == 4, "4d input expected");
    auto y = torch::empty(x.sizes(), x.options());
    const int threads = 128;
    dim3 grid((x.size(2) * x.size(3) + threads - 1) / threads, x.size(0));
    l2norm_kernel<<<grid, threads>>>(
        x.packed_accessor32<float, 4, torch::RestrictPtrTraits>(),
        y.packed_accessor32<float, 4, torch::RestrictPtrTraits>(),
        static_cast<float>(scale), 1e-12f);
    return y;
}
"""

l2 = load_inline(
    name="channel_l2_accessor",
    cpp_sources="torch::Tensor l2norm(torch::Tensor x, double scale);",
    cuda_sources=l2_cuda,
    functions=["l2norm"],
)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", torch.tensor(float(scale)))

    def forward(self, x):
        # a 0-dim tensor converts to double on its own
        return l2.l2norm(x, self.scale)
