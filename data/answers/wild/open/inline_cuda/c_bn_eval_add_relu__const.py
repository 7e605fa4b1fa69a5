import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import hashlib

SRC = r'''
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

#define MAX_CHANNELS 2048
__constant__ float c_scale[MAX_CHANNELS];
__constant__ float c_shift[MAX_CHANNELS];

__global__ void fold_kernel(const float* mean, const float* var, const float* w, const float* b,
                            float* scale, float* shift, int C, float eps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < C) {
        float s = w[i] / sqrtf(var[i] + eps);
        scale[i] = s;
        shift[i] = b[i] - mean[i] * s;
    }
}

// grid: (tiles of the plane, N*C)
__global__ void bn_add_relu_kernel(const float* __restrict__ x, const float* __restrict__ skip,
                                   float* __restrict__ out, int C, int hw) {
    const int plane = blockIdx.y;
    const int c = plane % C;               // uniform in the block: constant cache broadcast
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < hw) {
        const long idx = (long)plane * hw + i;
        out[idx] = fmaxf(x[idx] * c_scale[c] + c_shift[c] + skip[idx], 0.0f);
    }
}

torch::Tensor bn_add_relu(torch::Tensor x, torch::Tensor skip, torch::Tensor mean, torch::Tensor var,
                          torch::Tensor w, torch::Tensor b, double eps) {
    const int N = x.size(0), C = x.size(1), hw = x.size(2) * x.size(3);
    TORCH_CHECK(C <= MAX_CHANNELS, "at most ", MAX_CHANNELS, " channels");
    TORCH_CHECK((long)N * C <= 65535, "too many planes for the grid");
    auto stream = at::cuda::getCurrentCUDAStream();
    auto fold = torch::empty({2, C}, x.options());
    float* f = fold.data_ptr<float>();
    fold_kernel<<<(C + 127) / 128, 128, 0, stream>>>(mean.data_ptr<float>(), var.data_ptr<float>(),
        w.data_ptr<float>(), b.data_ptr<float>(), f, f + C, C, (float)eps);
    C10_CUDA_CHECK(cudaMemcpyToSymbolAsync(c_scale, f, C * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream));
    C10_CUDA_CHECK(cudaMemcpyToSymbolAsync(c_shift, f + C, C * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream));
    auto out = torch::empty_like(x);
    dim3 grid((hw + 255) / 256, N * C);
    bn_add_relu_kernel<<<grid, 256, 0, stream>>>(x.data_ptr<float>(), skip.data_ptr<float>(),
                                                 out.data_ptr<float>(), C, hw);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
'''

_name = "bn_add_relu_" + hashlib.md5(SRC.encode()).hexdigest()[:8]
_mod = load_inline(
    name=_name,
    cpp_sources="torch::Tensor bn_add_relu(torch::Tensor x, torch::Tensor skip, torch::Tensor mean, torch::Tensor var, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=SRC,
    functions=["bn_add_relu"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.bn.weight, 0.5, 1.5)
        nn.init.uniform_(self.bn.bias, -0.5, 0.5)
        self.bn.running_mean.uniform_(-0.5, 0.5)
        self.bn.running_var.uniform_(0.5, 2.0)

    def forward(self, x, skip):
        bn = self.bn
        return _mod.bn_add_relu(x.contiguous(), skip.contiguous(), bn.running_mean, bn.running_var,
                                bn.weight, bn.bias, bn.eps)
