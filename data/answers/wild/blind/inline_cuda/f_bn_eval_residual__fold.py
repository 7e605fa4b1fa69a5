import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bn_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void bn_add_hardswish(
    const float* __restrict__ x, const float* __restrict__ idn,
    const float* __restrict__ weight, const float* __restrict__ bias,
    const float* __restrict__ mean, const float* __restrict__ var,
    float* __restrict__ y, int C, int HW, float eps)
{
    // one block row (blockIdx.y) per (n, c) plane: fold the statistics into scale and shift once
    __shared__ float scale, shift;
    const int plane = blockIdx.y;
    const int c = plane % C;
    if (threadIdx.x == 0) {
        scale = weight[c] / sqrtf(var[c] + eps);
        shift = bias[c] - mean[c] * scale;
    }
    __syncthreads();

    const size_t base = (size_t)plane * HW;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < HW; i += blockDim.x * gridDim.x) {
        float v = x[base + i] * scale + shift + idn[base + i];
        float t = fminf(fmaxf(v + 3.f, 0.f), 6.f);
        y[base + i] = v * t / 6.f;
    }
}

torch::Tensor bn_add_hardswish_cuda(torch::Tensor x, torch::Tensor idn, torch::Tensor weight, torch::Tensor bias,
                                    torch::Tensor mean, torch::Tensor var, double eps)
{
    auto N = x.size(0), C = x.size(1);
    int HW = x.size(2) * x.size(3);
    auto y = torch::empty_like(x);
    dim3 grid((HW + 255) / 256, N * C);
    bn_add_hardswish<<<grid, 256>>>(
        x.data_ptr<float>(), idn.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
        mean.data_ptr<float>(), var.data_ptr<float>(), y.data_ptr<float>(), C, HW, eps);
    return y;
}
"""

bn_cpp = """
torch::Tensor bn_add_hardswish_cuda(torch::Tensor x, torch::Tensor idn, torch::Tensor weight, torch::Tensor bias,
                                    torch::Tensor mean, torch::Tensor var, double eps);
"""

bn_mod = load_inline(name="bn_add_hardswish", cpp_sources=bn_cpp, cuda_sources=bn_src,
                     functions=["bn_add_hardswish_cuda"], verbose=True)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super(ModelNew, self).__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.2)
        self.register_buffer("running_mean", torch.randn(channels) * 0.5)
        self.register_buffer("running_var", torch.rand(channels) + 0.5)

    def forward(self, x: torch.Tensor, identity: torch.Tensor) -> torch.Tensor:
        return bn_mod.bn_add_hardswish_cuda(
            x.contiguous(), identity.contiguous(), self.weight, self.bias,
            self.running_mean, self.running_var, self.eps)
