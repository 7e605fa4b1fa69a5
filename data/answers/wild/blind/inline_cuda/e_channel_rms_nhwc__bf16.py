import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r'''
#include <torch/extension.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int PX = 32;   // pixels in a block
constexpr int TY = 8;    // threads over channels

__global__ void rms_nhwc(const __nv_bfloat16* __restrict__ x, const float* __restrict__ w,
                         __nv_bfloat16* __restrict__ y, int C, int HW, float eps)
{
    __shared__ float part[TY][PX];
    __shared__ float tile[PX][PX + 1];
    const int n = blockIdx.y;
    const int p0 = blockIdx.x * PX;
    const int p = p0 + threadIdx.x;
    const __nv_bfloat16* xn = x + (size_t)n * C * HW;
    __nv_bfloat16* yn = y + (size_t)n * C * HW;

    // sum of squares, coalesced over pixels
    float ss = 0.f;
    if (p < HW) {
        for (int c = threadIdx.y; c < C; c += TY) {
            const float v = __bfloat162float(xn[(size_t)c * HW + p]);
            ss += v * v;
        }
    }
    part[threadIdx.y][threadIdx.x] = ss;
    __syncthreads();
    float tot = 0.f;
    #pragma unroll
    for (int i = 0; i < TY; ++i) tot += part[i][threadIdx.x];
    const float rstd = rsqrtf(tot / C + eps);

    // transpose in 32 x 32 tiles
    for (int c0 = 0; c0 < C; c0 += PX) {
        for (int i = threadIdx.y; i < PX; i += TY) {
            const int c = c0 + i;
            if (c < C && p < HW) tile[i][threadIdx.x] = __bfloat162float(xn[(size_t)c * HW + p]) * rstd * w[c];
        }
        __syncthreads();
        const int c = c0 + threadIdx.x;
        for (int i = threadIdx.y; i < PX; i += TY) {
            const int pp = p0 + i;
            if (c < C && pp < HW) yn[(size_t)pp * C + c] = __float2bfloat16(tile[threadIdx.x][i]);
        }
        __syncthreads();
    }
}

torch::Tensor rms_forward(torch::Tensor x, torch::Tensor w, double eps)
{
    TORCH_CHECK(x.scalar_type() == at::kBFloat16, "bfloat16 input expected");
    x = x.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    auto y = torch::empty({N, H, W, C}, x.options());
    dim3 block(PX, TY);
    dim3 grid((H * W + PX - 1) / PX, N);
    rms_nhwc<<<grid, block>>>(
        reinterpret_cast<const __nv_bfloat16*>(x.data_ptr<at::BFloat16>()), w.data_ptr<float>(),
        reinterpret_cast<__nv_bfloat16*>(y.data_ptr<at::BFloat16>()), C, H * W, (float)eps);
    return y;
}
'''

rms = load_inline(
    name='rms_nhwc_bf16',
    cpp_sources=['torch::Tensor rms_forward(torch::Tensor x, torch::Tensor w, double eps);'],
    cuda_sources=[src],
    functions=['rms_forward'],
)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.2 * torch.randn(channels))

    def forward(self, x):
        return rms.rms_forward(x, self.weight, self.eps)
