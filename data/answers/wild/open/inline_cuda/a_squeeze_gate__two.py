import os
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

BUILD_DIR = os.path.join(os.path.expanduser("~"), ".cache", "a_squeeze_gate_build")
os.makedirs(BUILD_DIR, exist_ok=True)

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// gate[n * C + c] = sigmoid(mean(x[n, c]) * w[c] + b[c])
__global__ void __launch_bounds__(256, 4)
gate_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
            float* __restrict__ gate, int C, int HW) {
    __shared__ float buf[256];
    const float* plane = x + (size_t)blockIdx.x * HW;
    float s = 0.f;
    for (int i = threadIdx.x; i < HW; i += blockDim.x) s += plane[i];
    buf[threadIdx.x] = s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) buf[threadIdx.x] += buf[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        int c = blockIdx.x % C;
        float z = buf[0] / HW * w[c] + b[c];
        gate[blockIdx.x] = 1.f / (1.f + expf(-z));
    }
}

__global__ void rescale_kernel(const float* __restrict__ x, const float* __restrict__ gate,
                               float* __restrict__ y, int HW) {
    int i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i < HW) {
        size_t o = (size_t)blockIdx.x * HW + i;
        y[o] = x[o] * gate[blockIdx.x];
    }
}

torch::Tensor squeeze_gate(const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& b) {
    TORCH_CHECK(x.dim() == 4, "NCHW expected");
    const int planes = x.size(0) * x.size(1);
    const int C = x.size(1);
    const int HW = x.size(2) * x.size(3);
    auto gate = torch::empty({planes}, x.options());
    auto y = torch::empty_like(x);
    gate_kernel<<<planes, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), gate.data_ptr<float>(), C, HW);
    dim3 grid(planes, (HW + 255) / 256);
    rescale_kernel<<<grid, 256>>>(x.data_ptr<float>(), gate.data_ptr<float>(), y.data_ptr<float>(), HW);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) {
        printf("squeeze_gate failed: %s\n", cudaGetErrorString(err));
    }
    return y;
}
"""

ext = load_inline(
    name="a_squeeze_gate_two",
    cpp_sources="torch::Tensor squeeze_gate(const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& b);",
    cuda_sources=cuda_source,
    functions=["squeeze_gate"],
    build_directory=BUILD_DIR,
    with_cuda=True,
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels) * 0.5)

    def forward(self, x):
        return ext.squeeze_gate(x.contiguous(), self.weight, self.bias)
