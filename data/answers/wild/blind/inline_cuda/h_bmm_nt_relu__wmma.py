import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int BM = 32;
constexpr int BN = 32;
constexpr int BK = 16;
constexpr int LD = BK + 8;    // padded leading dimension for the bf16 tiles
constexpr int LDC = BN + 4;   // padded leading dimension for the fp32 tile

// 4 warps, each owns a 16x16 tile of a 32x32 output block. Tensor cores, fp32 accumulate.
__global__ void __launch_bounds__(128)
bmm_nt_wmma(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
            __nv_bfloat16* __restrict__ C, int M, int N, int K, float alpha) {
  __shared__ __align__(32) __nv_bfloat16 As[BM][LD];
  __shared__ __align__(32) __nv_bfloat16 Bs[BN][LD];
  __shared__ __align__(32) float Cs[BM][LDC];

  const int bz = blockIdx.z;
  const int m0 = blockIdx.y * BM;
  const int n0 = blockIdx.x * BN;
  const __nv_bfloat16* a = A + (size_t)bz * M * K;
  const __nv_bfloat16* b = B + (size_t)bz * N * K;

  const int warp = threadIdx.x / 32;
  const int wm = (warp / 2) * 16;
  const int wn = (warp % 2) * 16;

  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);

  const __nv_bfloat16 zero = __float2bfloat16(0.0f);
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += 128) {
      const int r = i / BK, c = i % BK;
      As[r][c] = (m0 + r < M && k0 + c < K) ? a[(size_t)(m0 + r) * K + k0 + c] : zero;
    }
    for (int i = threadIdx.x; i < BN * BK; i += 128) {
      const int r = i / BK, c = i % BK;
      Bs[r][c] = (n0 + r < N && k0 + c < K) ? b[(size_t)(n0 + r) * K + k0 + c] : zero;
    }
    __syncthreads();

    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
    // Bs[n][k] is a K x N matrix in column-major order
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
    wmma::load_matrix_sync(fa, &As[wm][0], LD);
    wmma::load_matrix_sync(fb, &Bs[wn][0], LD);
    wmma::mma_sync(acc, fa, fb, acc);
    __syncthreads();
  }

  wmma::store_matrix_sync(&Cs[wm][wn], acc, LDC, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < BM * BN; i += 128) {
    const int r = i / BN, c = i % BN;
    if (m0 + r < M && n0 + c < N) {
      const float v = fmaxf(Cs[r][c] * alpha, 0.0f);
      C[((size_t)bz * M + m0 + r) * N + n0 + c] = __float2bfloat16(v);
    }
  }
}

torch::Tensor bmm_nt_relu_wmma(torch::Tensor a, torch::Tensor b, double alpha) {
  TORCH_CHECK(a.is_cuda() && b.is_cuda(), "CUDA tensors expected");
  TORCH_CHECK(a.scalar_type() == at::kBFloat16 && b.scalar_type() == at::kBFloat16, "bfloat16 expected");
  TORCH_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(2), "shape mismatch");
  a = a.contiguous();
  b = b.contiguous();
  const int bs = a.size(0), M = a.size(1), K = a.size(2), N = b.size(1);
  auto c = torch::empty({bs, M, N}, a.options());
  dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM, bs);
  bmm_nt_wmma<<<grid, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
      reinterpret_cast<const __nv_bfloat16*>(a.data_ptr<at::BFloat16>()),
      reinterpret_cast<const __nv_bfloat16*>(b.data_ptr<at::BFloat16>()),
      reinterpret_cast<__nv_bfloat16*>(c.data_ptr<at::BFloat16>()), M, N, K, (float)alpha);
  return c;
}
"""

cpp_src = "torch::Tensor bmm_nt_relu_wmma(torch::Tensor a, torch::Tensor b, double alpha);"

ext = load_inline(
    name="h_bmm_nt_relu_wmma",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["bmm_nt_relu_wmma"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        return ext.bmm_nt_relu_wmma(a, b, self.alpha)
