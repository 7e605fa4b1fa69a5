import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_code = r'''
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define TILE 32
#define ROWS 8   // each thread computes TILE / ROWS outputs

__global__ void bmm_nt_half(const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C,
                            int M, int N, int K, float alpha)
{
    __shared__ float As[TILE][TILE + 1];
    __shared__ float Bs[TILE][TILE + 1];

    const int batch = blockIdx.z;
    const int m0 = blockIdx.y * TILE;
    const int n0 = blockIdx.x * TILE;
    A += (size_t)batch * M * K;
    B += (size_t)batch * N * K;
    C += (size_t)batch * M * N;

    const int tx = threadIdx.x;   // 0..31
    const int ty = threadIdx.y;   // 0..7

    float acc[TILE / ROWS] = {0.f, 0.f, 0.f, 0.f};

    for (int k0 = 0; k0 < K; k0 += TILE) {
        #pragma unroll
        for (int r = ty; r < TILE; r += ROWS) {
            const int k = k0 + tx;
            As[r][tx] = (m0 + r < M && k < K) ? __half2float(A[(size_t)(m0 + r) * K + k]) : 0.f;
            Bs[r][tx] = (n0 + r < N && k < K) ? __half2float(B[(size_t)(n0 + r) * K + k]) : 0.f;
        }
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < TILE; ++kk) {
            const float b = Bs[tx][kk];
            #pragma unroll
            for (int j = 0; j < TILE / ROWS; ++j) {
                acc[j] = fmaf(As[ty + j * ROWS][kk], b, acc[j]);
            }
        }
        __syncthreads();
    }

    const int n = n0 + tx;
    if (n < N) {
        #pragma unroll
        for (int j = 0; j < TILE / ROWS; ++j) {
            const int m = m0 + ty + j * ROWS;
            if (m < M) C[(size_t)m * N + n] = __float2half(acc[j] * alpha);
        }
    }
}

torch::Tensor bmm_nt(torch::Tensor a, torch::Tensor b, double alpha)
{
    TORCH_CHECK(a.is_cuda() && b.is_cuda(), "inputs must be on the GPU");
    TORCH_CHECK(a.scalar_type() == torch::kHalf && b.scalar_type() == torch::kHalf, "half expected");
    TORCH_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(2), "shape mismatch");
    a = a.contiguous();
    b = b.contiguous();
    const int Z = a.size(0), M = a.size(1), K = a.size(2), N = b.size(1);
    auto c = torch::empty({Z, M, N}, a.options());
    dim3 block(TILE, ROWS);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE, Z);
    bmm_nt_half<<<grid, block>>>(
        reinterpret_cast<const __half*>(a.data_ptr<at::Half>()),
        reinterpret_cast<const __half*>(b.data_ptr<at::Half>()),
        reinterpret_cast<__half*>(c.data_ptr<at::Half>()),
        M, N, K, (float)alpha);
    return c;
}
'''

cpp_code = "torch::Tensor bmm_nt(torch::Tensor a, torch::Tensor b, double alpha);"

bmm_module = load_inline(
    name="bmm_nt_half_tiled",
    cpp_sources=[cpp_code],
    cuda_sources=[cuda_code],
    functions=["bmm_nt"],
    extra_cuda_cflags=["-O3", "-lineinfo"],
)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return bmm_module.bmm_nt(a, b, self.scale)
