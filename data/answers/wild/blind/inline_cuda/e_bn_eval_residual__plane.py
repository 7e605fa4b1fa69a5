import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bn_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// One block per (n, c) plane: the affine constants are the same for the whole block.
template <typename scalar_t>
__global__ void bn_add_relu_kernel(
    const scalar_t* __restrict__ x,
    const scalar_t* __restrict__ res,
    const scalar_t* __restrict__ mean,
    const scalar_t* __restrict__ var,
    const scalar_t* __restrict__ weight,
    const scalar_t* __restrict__ bias,
    scalar_t* __restrict__ out,
    int C, int HW, double eps)
{
    __shared__ scalar_t a_sh, b_sh;
    const int plane = blockIdx.x;
    if (threadIdx.x == 0) {
        const int c = plane % C;
        const scalar_t a = weight[c] / sqrt(var[c] + (scalar_t)eps);
        a_sh = a;
        b_sh = bias[c] - mean[c] * a;
    }
    __syncthreads();
    const scalar_t a = a_sh, b = b_sh;
    const size_t base = (size_t)plane * HW;
    for (int i = threadIdx.x; i < HW; i += blockDim.x) {
        scalar_t v = x[base + i] * a + b + res[base + i];
        out[base + i] = v > (scalar_t)0 ? v : (scalar_t)0;
    }
}

torch::Tensor bn_add_relu(torch::Tensor x, torch::Tensor res, torch::Tensor mean, torch::Tensor var,
                          torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.sizes() == res.sizes(), "shape mismatch");
    x = x.contiguous();
    res = res.contiguous();
    auto out = torch::empty_like(x);
    const int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    const int threads = HW >= 256 ? 256 : 64;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "bn_add_relu", [&] {
        bn_add_relu_kernel<scalar_t><<<N * C, threads>>>(
            x.data_ptr<scalar_t>(), res.data_ptr<scalar_t>(), mean.data_ptr<scalar_t>(), var.data_ptr<scalar_t>(),
            weight.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), C, HW, eps);
    });
    return out;
}
"""

bn_decl = """
torch::Tensor bn_add_relu(torch::Tensor x, torch::Tensor res, torch::Tensor mean, torch::Tensor var,
                          torch::Tensor weight, torch::Tensor bias, double eps);
"""

fused_bn = load_inline(name="e_bn_plane", cpp_sources=bn_decl, cuda_sources=bn_src, functions=["bn_add_relu"])


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.2)
        self.register_buffer("running_var", torch.rand(channels) + 0.3)

    def forward(self, x, residual):
        return fused_bn.bn_add_relu(x, residual, self.running_mean, self.running_var, self.weight, self.bias, self.eps)
