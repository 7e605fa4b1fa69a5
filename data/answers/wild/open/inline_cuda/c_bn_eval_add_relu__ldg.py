import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bn_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void fused_bn_add_relu(
    const float* __restrict__ input,
    const float* __restrict__ residual,
    const float* __restrict__ running_mean,
    const float* __restrict__ running_var,
    const float* __restrict__ weight,
    const float* __restrict__ bias,
    float* __restrict__ output,
    int total, int channels, int spatial, float eps)
{
    int stride = blockDim.x * gridDim.x;
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < total; idx += stride) {
        int c = (idx / spatial) % channels;
        float inv = rsqrtf(__ldg(&running_var[c]) + eps);
        float v = (__ldg(&input[idx]) - __ldg(&running_mean[c])) * inv;
        v = v * __ldg(&weight[c]) + __ldg(&bias[c]);
        v += __ldg(&residual[idx]);
        output[idx] = v > 0.0f ? v : 0.0f;
    }
}

torch::Tensor fused_bn_add_relu_cuda(
    torch::Tensor input, torch::Tensor residual,
    torch::Tensor running_mean, torch::Tensor running_var,
    torch::Tensor weight, torch::Tensor bias, float eps)
{
    auto output = torch::zeros_like(input);
    int total = input.numel();
    int channels = input.size(1);
    int spatial = total / (input.size(0) * channels);

    const int threads = 256;
    int blocks = (total + threads - 1) / threads;
    if (blocks > 4096) blocks = 4096;

    fused_bn_add_relu<<<blocks, threads>>>(
        input.data_ptr<float>(), residual.data_ptr<float>(),
        running_mean.data_ptr<float>(), running_var.data_ptr<float>(),
        weight.data_ptr<float>(), bias.data_ptr<float>(),
        output.data_ptr<float>(), total, channels, spatial, eps);
    return output;
}
"""

bn_cpp_source = (
    "torch::Tensor fused_bn_add_relu_cuda(torch::Tensor input, torch::Tensor residual, "
    "torch::Tensor running_mean, torch::Tensor running_var, torch::Tensor weight, torch::Tensor bias, float eps);"
)

# Compile the inline CUDA code
fused_bn = load_inline(
    name="fused_bn_add_relu",
    cpp_sources=bn_cpp_source,
    cuda_sources=bn_source,
    functions=["fused_bn_add_relu_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super(ModelNew, self).__init__()
        self.bn = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.bn.weight, 0.5, 1.5)
        nn.init.uniform_(self.bn.bias, -0.5, 0.5)
        self.bn.running_mean.uniform_(-0.5, 0.5)
        self.bn.running_var.uniform_(0.5, 2.0)
        self.fused_bn = fused_bn

    def forward(self, x, skip):
        return self.fused_bn.fused_bn_add_relu_cuda(
            x.contiguous(), skip.contiguous(),
            self.bn.running_mean, self.bn.running_var,
            self.bn.weight, self.bn.bias, self.bn.eps,
        )
