import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 16

// out[m][n] = gelu(sum_k x[m][k] * w[n][k] + bias[n]) * scale[n]
__global__ void linear_gelu_scale_kernel(
    const float* __restrict__ x, const float* __restrict__ w,
    const float* __restrict__ bias, const float* __restrict__ scale,
    float* __restrict__ out, int M, int N, int K)
{
    __shared__ float xs[TILE][TILE];
    __shared__ float ws[TILE][TILE + 1];   // +1 avoids bank conflicts

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    int wrow = blockIdx.x * TILE + ty;

    float acc = 0.0f;
    int tiles = (K + TILE - 1) / TILE;
    for (int t = 0; t < tiles; ++t) {
        int k = t * TILE + tx;
        xs[ty][tx] = (row < M && k < K) ? x[row * K + k] : 0.0f;
        ws[ty][tx] = (wrow < N && k < K) ? w[wrow * K + k] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i)
            acc += xs[ty][i] * ws[tx][i];
        __syncthreads();
    }

    if (row < M && col < N) {
        float v = acc + bias[col];
        v = 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
        out[row * N + col] = v * scale[col];
    }
}

torch::Tensor linear_gelu_scale(torch::Tensor x, torch::Tensor w, torch::Tensor bias, torch::Tensor scale)
{
    int M = x.size(0);
    int K = x.size(1);
    int N = w.size(0);
    auto out = torch::empty({M, N}, x.options());
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    linear_gelu_scale_kernel<<<grid, block>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(), scale.data_ptr<float>(),
        out.data_ptr<float>(), M, N, K);
    return out;
}
'''

cpp_source = '''
torch::Tensor linear_gelu_scale(torch::Tensor x, torch::Tensor w, torch::Tensor bias, torch::Tensor scale);
'''

module = load_inline(
    name='h_linear_gelu_scale_tiled',
    cpp_sources=[cpp_source],
    cuda_sources=[cuda_source],
    functions=['linear_gelu_scale'],
    with_cuda=True,
    verbose=False,
    extra_cuda_cflags=['-O3'],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super(ModelNew, self).__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.rand(out_features) * 2)

    def forward(self, x):
        if not x.is_cuda:
            return F.gelu(self.linear(x)) * self.scale
        return module.linear_gelu_scale(x.contiguous(), self.linear.weight, self.linear.bias, self.scale)
