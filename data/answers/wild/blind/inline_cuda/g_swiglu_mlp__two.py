import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mlp_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 16

// h = silu(x Wg^T) * (x Wu^T)
__global__ void gate_up_kernel(const float* __restrict__ x, const float* __restrict__ wg,
                               const float* __restrict__ wu, float* __restrict__ h, int M, int N, int K) {
    __shared__ float xs[TILE][TILE], gs[TILE][TILE + 1], us[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int m = blockIdx.y * TILE + ty, n = blockIdx.x * TILE + tx;
    const int wn = blockIdx.x * TILE + ty;     // weight row that this thread stages
    float g = 0.f, u = 0.f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int k = k0 + tx;
        xs[ty][tx] = (m < M && k < K) ? x[m * K + k] : 0.f;
        gs[ty][tx] = (wn < N && k < K) ? wg[wn * K + k] : 0.f;
        us[ty][tx] = (wn < N && k < K) ? wu[wn * K + k] : 0.f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i) {
            const float a = xs[ty][i];
            g = fmaf(a, gs[tx][i], g);
            u = fmaf(a, us[tx][i], u);
        }
        __syncthreads();
    }
    if (m < M && n < N) h[m * N + n] = g / (1.f + __expf(-g)) * u;
}

__global__ void down_kernel(const float* __restrict__ h, const float* __restrict__ wd,
                            float* __restrict__ y, int M, int N, int K) {
    __shared__ float hs[TILE][TILE], ws[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int m = blockIdx.y * TILE + ty, n = blockIdx.x * TILE + tx;
    const int wn = blockIdx.x * TILE + ty;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int k = k0 + tx;
        hs[ty][tx] = (m < M && k < K) ? h[m * K + k] : 0.f;
        ws[ty][tx] = (wn < N && k < K) ? wd[wn * K + k] : 0.f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i) acc = fmaf(hs[ty][i], ws[tx][i], acc);
        __syncthreads();
    }
    if (m < M && n < N) y[m * N + n] = acc;
}

torch::Tensor swiglu_mlp(torch::Tensor x, torch::Tensor wg, torch::Tensor wu, torch::Tensor wd) {
    x = x.contiguous();
    const int M = x.size(0), K = x.size(1), N = wg.size(0), O = wd.size(0);
    TORCH_CHECK(wg.size(1) == K && wu.size(1) == K && wd.size(1) == N, "weight shapes");
    auto h = torch::empty({M, N}, x.options());
    auto y = torch::empty({M, O}, x.options());
    const dim3 block(TILE, TILE);
    const dim3 g1((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    const dim3 g2((O + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    gate_up_kernel<<<g1, block>>>(x.data_ptr<float>(), wg.data_ptr<float>(), wu.data_ptr<float>(), h.data_ptr<float>(), M, N, K);
    down_kernel<<<g2, block>>>(h.data_ptr<float>(), wd.data_ptr<float>(), y.data_ptr<float>(), M, O, N);
    return y;
}
"""

mlp = load_inline(
    name="g_swiglu_mlp_two",
    cpp_sources="torch::Tensor swiglu_mlp(torch::Tensor x, torch::Tensor wg, torch::Tensor wu, torch::Tensor wd);",
    cuda_sources=mlp_source,
    functions=["swiglu_mlp"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return mlp.swiglu_mlp(x, self.gate.weight, self.up.weight, self.down.weight)
