import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

pool_cuda = r"""
#include <torch/extension.h>
#include <cuda_bf16.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

// block = one batch element.  Dynamic shared memory holds the pooled vector.
__global__ void masked_pool_rms(const __nv_bfloat16* __restrict__ x, const bool* __restrict__ mask,
                                const float* __restrict__ w, __nv_bfloat16* __restrict__ y, int T, int D, float eps) {
    extern __shared__ float pooled[];
    __shared__ float red[8];
    __shared__ int valid;
    if (threadIdx.x == 0) valid = 0;
    __syncthreads();
    const bool* mk = mask + (size_t)blockIdx.x * T;
    int mine = 0;
    for (int t = threadIdx.x; t < T; t += blockDim.x) mine += mk[t] ? 1 : 0;
    atomicAdd(&valid, mine);
    __syncthreads();
    const float inv_n = 1.0f / (float)max(valid, 1);

    const __nv_bfloat16* xb = x + (size_t)blockIdx.x * T * D;
    float sq = 0.f;
    if (D % 2 == 0) {
        const __nv_bfloat162* x2 = reinterpret_cast<const __nv_bfloat162*>(xb);
        const int D2 = D / 2;
        for (int d = threadIdx.x; d < D2; d += blockDim.x) {
            float a = 0.f, b = 0.f;
            for (int t = 0; t < T; ++t) {
                if (mk[t]) {
                    const __nv_bfloat162 v = x2[(size_t)t * D2 + d];
                    a += __low2float(v);
                    b += __high2float(v);
                }
            }
            a *= inv_n;
            b *= inv_n;
            pooled[2 * d] = a;
            pooled[2 * d + 1] = b;
            sq += a * a + b * b;
        }
    } else {
        for (int d = threadIdx.x; d < D; d += blockDim.x) {
            float a = 0.f;
            for (int t = 0; t < T; ++t)
                if (mk[t]) a += __bfloat162float(xb[(size_t)t * D + d]);
            a *= inv_n;
            pooled[d] = a;
            sq += a * a;
        }
    }
    for (int o = 16; o > 0; o >>= 1) sq += __shfl_xor_sync(0xffffffffu, sq, o);
    if ((threadIdx.x & 31) == 0) red[threadIdx.x / 32] = sq;
    __syncthreads();
    float total = 0.f;
    for (int i = 0; i < (int)blockDim.x / 32; ++i) total += red[i];
    const float inv = rsqrtf(total / D + eps);
    for (int d = threadIdx.x; d < D; d += blockDim.x)
        y[(size_t)blockIdx.x * D + d] = __float2bfloat16(pooled[d] * inv * w[d]);
}

torch::Tensor masked_pool(torch::Tensor x, torch::Tensor mask, torch::Tensor w, double eps) {
    TORCH_CHECK(x.dtype() == torch::kBFloat16, "x must be bfloat16");
    TORCH_CHECK(mask.dtype() == torch::kBool, "mask must be bool");
    x = x.contiguous();
    mask = mask.contiguous();
    const int B = x.size(0), T = x.size(1), D = x.size(2);
    auto y = torch::empty({B, D}, x.options());
    masked_pool_rms<<<B, 128, D * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const __nv_bfloat16*>(x.data_ptr<at::BFloat16>()), mask.data_ptr<bool>(),
        w.data_ptr<float>(), reinterpret_cast<__nv_bfloat16*>(y.data_ptr<at::BFloat16>()), T, D, (float)eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

pool_ext = load_inline(
    name="masked_pool_rms_bf16",
    cpp_sources="torch::Tensor masked_pool(torch::Tensor x, torch::Tensor mask, torch::Tensor w, double eps);",
    cuda_sources=pool_cuda,
    functions=["masked_pool"],
)


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x, mask):
        return pool_ext.masked_pool(x, mask, self.weight, self.eps)
