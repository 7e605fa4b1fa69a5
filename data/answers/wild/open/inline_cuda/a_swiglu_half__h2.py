import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float silu(float g) { return g / (1.0f + __expf(-g)); }

__global__ void swiglu_h2(const __half2* __restrict__ x, __half2* __restrict__ y, int rows, int h2) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= rows * h2) return;
    int r = idx / h2;
    int c = idx - r * h2;
    const __half2* base = x + (size_t)r * 2 * h2;
    float2 v = __half22float2(base[c]);
    float2 g = __half22float2(base[h2 + c]);
    y[idx] = __floats2half2_rn(v.x * silu(g.x), v.y * silu(g.y));
}

__global__ void swiglu_h1(const __half* __restrict__ x, __half* __restrict__ y, int rows, int h) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= rows * h) return;
    int r = idx / h;
    int c = idx - r * h;
    const __half* base = x + (size_t)r * 2 * h;
    float v = __half2float(base[c]);
    float g = __half2float(base[h + c]);
    y[idx] = __float2half(v * silu(g));
}

torch::Tensor swiglu(torch::Tensor x) {
    TORCH_CHECK(x.scalar_type() == at::kHalf, "swiglu: expected half, got ", x.scalar_type());
    x = x.contiguous();
    auto sizes = x.sizes().vec();
    const int h = sizes.back() / 2;
    sizes.back() = h;
    auto y = torch::empty(sizes, x.options());
    const int rows = x.numel() / (2 * h);
    const int threads = 256;
    if (h % 2 == 0) {
        int n = rows * (h / 2);
        swiglu_h2<<<(n + threads - 1) / threads, threads>>>(
            reinterpret_cast<const __half2*>(x.data_ptr<at::Half>()),
            reinterpret_cast<__half2*>(y.data_ptr<at::Half>()), rows, h / 2);
    } else {
        int n = rows * h;
        swiglu_h1<<<(n + threads - 1) / threads, threads>>>(
            reinterpret_cast<const __half*>(x.data_ptr<at::Half>()),
            reinterpret_cast<__half*>(y.data_ptr<at::Half>()), rows, h);
    }
    return y;
}
"""

swiglu_ext = load_inline(
    name="a_swiglu_h2",
    cpp_sources="torch::Tensor swiglu(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["swiglu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        if torch.version.cuda is not None:
            major = int(torch.version.cuda.split(".")[0])
            assert major >= 11, f"CUDA 11 or newer is needed, found {torch.version.cuda}"

    def forward(self, x):
        return swiglu_ext.swiglu(x)
