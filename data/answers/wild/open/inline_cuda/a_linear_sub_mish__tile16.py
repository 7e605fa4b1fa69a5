import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

linear_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 16

__global__ void linear_sub_mish_kernel(const float* x, const float* w, const float* bias, const float* offset,
                                       float* y, int M, int N, int K) {
    __shared__ float xs[TILE][TILE];
    __shared__ float ws[TILE][TILE + 1];   // padded: it is read by columns

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;

    for (int k0 = 0; k0 < K; k0 += TILE) {
        xs[ty][tx] = (row < M && k0 + tx < K) ? x[row * K + k0 + tx] : 0.0f;
        int wrow = blockIdx.x * TILE + ty;
        ws[ty][tx] = (wrow < N && k0 + tx < K) ? w[wrow * K + k0 + tx] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) acc += xs[ty][k] * ws[tx][k];
        __syncthreads();
    }

    if (row < M && col < N) {
        float z = acc + bias[col] - offset[col];
        float sp = z > 20.0f ? z : log1pf(expf(z));
        y[row * N + col] = z * tanhf(sp);
    }
}

torch::Tensor linear_sub_mish_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor offset) {
    int M = x.size(0);
    int K = x.size(1);
    int N = weight.size(0);
    auto y = torch::empty({M, N}, x.options());
    dim3 threads(TILE, TILE);
    dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    linear_sub_mish_kernel<<<blocks, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), offset.data_ptr<float>(),
        y.data_ptr<float>(), M, N, K);
    return y;
}
"""

linear_cpp_source = "torch::Tensor linear_sub_mish_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, torch::Tensor offset);"

linear_sub_mish = load_inline(
    name="a_linear_sub_mish_tile16",
    cpp_sources=linear_cpp_source,
    cuda_sources=linear_source,
    functions=["linear_sub_mish_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super(ModelNew, self).__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.register_buffer("offset", torch.randn(out_features) * 0.2)
        self.linear_sub_mish = linear_sub_mish

    def forward(self, x):
        return self.linear_sub_mish.linear_sub_mish_cuda(
            x.contiguous(), self.linear.weight, self.linear.bias, self.offset
        )
