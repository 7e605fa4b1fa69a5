import os
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

build_dir = os.path.join(os.path.expanduser("~"), ".cache", "matmul_regblock_build")
os.makedirs(build_dir, exist_ok=True)

cuda_src = r'''
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cstdint>

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 16;
constexpr int TM = 4;
constexpr int TN = 4;
constexpr int NT = (BM / TM) * (BN / TN);   // 256

// VEC: rows of A and B are 16 byte aligned, so that float4 loads never straddle the edge.
template <bool VEC>
__global__ void __launch_bounds__(NT)
sgemm_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
             int M, int N, int K)
{
    __shared__ float As[BK][BM + 4];
    __shared__ __align__(16) float Bs[BK][BN];

    const int tid = threadIdx.x;
    const int m0 = blockIdx.y * BM;
    const int n0 = blockIdx.x * BN;
    const int tr = (tid / (BN / TN)) * TM;
    const int tc = (tid % (BN / TN)) * TN;

    // load coordinates: one float4 a thread for each tile
    const int a_row = tid / (BK / 4), a_col = (tid % (BK / 4)) * 4;
    const int b_row = tid / (BN / 4), b_col = (tid % (BN / 4)) * 4;

    float acc[TM][TN] = {};

    for (int k0 = 0; k0 < K; k0 += BK) {
        float av[4] = {0.f, 0.f, 0.f, 0.f};
        float bv[4] = {0.f, 0.f, 0.f, 0.f};
        const int ar = m0 + a_row, ac = k0 + a_col;
        const int br = k0 + b_row, bc = n0 + b_col;
        if (VEC) {
            if (ar < M && ac < K) {
                const float4 t = *reinterpret_cast<const float4*>(A + (size_t)ar * K + ac);
                av[0] = t.x; av[1] = t.y; av[2] = t.z; av[3] = t.w;
            }
            if (br < K && bc < N) {
                const float4 t = *reinterpret_cast<const float4*>(B + (size_t)br * N + bc);
                bv[0] = t.x; bv[1] = t.y; bv[2] = t.z; bv[3] = t.w;
            }
        } else {
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (ar < M && ac + i < K) av[i] = __ldg(A + (size_t)ar * K + ac + i);
                if (br < K && bc + i < N) bv[i] = __ldg(B + (size_t)br * N + bc + i);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            As[a_col + i][a_row] = av[i];
            Bs[b_row][b_col + i] = bv[i];
        }
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float ra[TM], rb[TN];
            #pragma unroll
            for (int i = 0; i < TM; ++i) ra[i] = As[k][tr + i];
            #pragma unroll
            for (int j = 0; j < TN; ++j) rb[j] = Bs[k][tc + j];
            #pragma unroll
            for (int i = 0; i < TM; ++i)
                #pragma unroll
                for (int j = 0; j < TN; ++j)
                    acc[i][j] = fmaf(ra[i], rb[j], acc[i][j]);
        }
        __syncthreads();
    }

    for (int i = 0; i < TM; ++i) {
        const int r = m0 + tr + i;
        if (r >= M) break;
        for (int j = 0; j < TN; ++j) {
            const int c = n0 + tc + j;
            if (c < N) C[(size_t)r * N + c] = acc[i][j];
        }
    }
}

static bool aligned16(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; }

torch::Tensor sgemm(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.scalar_type() == torch::kFloat32 && b.scalar_type() == torch::kFloat32, "float32 only");
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "bad shapes");
    const at::cuda::OptionalCUDAGuard guard(a.device());
    auto ac = a.contiguous();
    auto bc = b.contiguous();
    const int M = ac.size(0), K = ac.size(1), N = bc.size(1);
    auto c = torch::empty({M, N}, ac.options());
    const float* pa = ac.data_ptr<float>();
    const float* pb = bc.data_ptr<float>();
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    auto stream = at::cuda::getCurrentCUDAStream();
    if (K % 4 == 0 && N % 4 == 0 && aligned16(pa) && aligned16(pb))
        sgemm_kernel<true><<<grid, NT, 0, stream>>>(pa, pb, c.data_ptr<float>(), M, N, K);
    else
        sgemm_kernel<false><<<grid, NT, 0, stream>>>(pa, pb, c.data_ptr<float>(), M, N, K);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return c;
}
'''

_mod = load_inline(
    name='sgemm_regblock',
    cpp_sources='torch::Tensor sgemm(torch::Tensor a, torch::Tensor b);',
    cuda_sources=cuda_src,
    functions=['sgemm'],
    extra_cuda_cflags=['-O3', '--use_fast_math'],
    build_directory=build_dir,
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return _mod.sgemm(A, B)


if __name__ == "__main__":
    x = torch.randn(200, 176, device="cuda")
    y = torch.randn(176, 136, device="cuda")
    print((ModelNew()(x, y) - x @ y).abs().max())
