import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define BM 64
#define BN 64
#define BK 16
#define TM 4
#define TN 4

__device__ __forceinline__ float mish(float y) {
    // tanh(log(1 + e^y)) without the log
    const float e = __expf(fminf(y, 20.f));
    const float t = e * (e + 2.f);
    return y * (t / (t + 2.f));
}

template <bool VEC>
__device__ __forceinline__ void load_tile(const float* __restrict__ src, float (*dst)[BM + 4],
                                          int row0, int rows, int k0, int K, int tid) {
    const int r = tid >> 2;           // 0..63
    const int c = (tid & 3) * 4;      // 0,4,8,12
    const int gr = row0 + r, gk = k0 + c;
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
    if (gr < rows) {
        const float* p = src + (size_t)gr * K + gk;
        if (VEC) {
            if (gk < K) v = *reinterpret_cast<const float4*>(p);   // K % 4 == 0
        } else {
            if (gk + 0 < K) v.x = p[0];
            if (gk + 1 < K) v.y = p[1];
            if (gk + 2 < K) v.z = p[2];
            if (gk + 3 < K) v.w = p[3];
        }
    }
    dst[c + 0][r] = v.x;
    dst[c + 1][r] = v.y;
    dst[c + 2][r] = v.z;
    dst[c + 3][r] = v.w;
}

template <bool VEC>
__global__ __launch_bounds__(256) void linear_mish_res_kernel(
    const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias,
    float* __restrict__ y, int M, int N, int K)
{
    __shared__ __align__(16) float As[BK][BM + 4];
    __shared__ __align__(16) float Ws[BK][BN + 4];
    const int tid = threadIdx.x;
    const int tx = tid % 16, ty = tid / 16;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;

    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        load_tile<VEC>(x, As, m0, M, k0, K, tid);
        load_tile<VEC>(w, Ws, n0, N, k0, K, tid);
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float4 a = *reinterpret_cast<const float4*>(&As[k][ty * TM]);
            const float4 b = *reinterpret_cast<const float4*>(&Ws[k][tx * TN]);
            const float av[4] = {a.x, a.y, a.z, a.w};
            const float bv[4] = {b.x, b.y, b.z, b.w};
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll
                for (int j = 0; j < TN; ++j)
                    acc[i][j] = fmaf(av[i], bv[j], acc[i][j]);
        }
        __syncthreads();
    }

    #pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int m = m0 + ty * TM + i;
        if (m >= M) break;
        #pragma unroll
        for (int j = 0; j < TN; ++j) {
            const int n = n0 + tx * TN + j;
            if (n < N) y[(size_t)m * N + n] = x[(size_t)m * K + n] + mish(acc[i][j] + bias[n]);
        }
    }
}

torch::Tensor linear_mish_res(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && w.is_cuda() && bias.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(x.dim() == 2 && x.size(1) == w.size(1), "shape mismatch");
    TORCH_CHECK(w.size(0) == w.size(1), "the residual needs a square weight");
    x = x.contiguous();
    w = w.contiguous();
    const int M = x.size(0), K = x.size(1), N = w.size(0);
    auto y = torch::empty({M, N}, x.options());
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    if (K % 4 == 0)
        linear_mish_res_kernel<true><<<grid, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), M, N, K);
    else
        linear_mish_res_kernel<false><<<grid, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), M, N, K);
    return y;
}
"""

ext = load_inline(
    name="g_linear_mish_res_reg",
    cpp_sources="torch::Tensor linear_mish_res(torch::Tensor x, torch::Tensor w, torch::Tensor bias);",
    cuda_sources=source,
    functions=["linear_mish_res"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
    verbose=False,
)


class ModelNew(nn.Module):
    """Linear + bias + mish + residual in one register-tiled SGEMM."""

    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return ext.linear_mish_res(x, self.fc.weight, self.fc.bias)
