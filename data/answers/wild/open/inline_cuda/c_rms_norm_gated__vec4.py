import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cstdint>

__device__ __forceinline__ float warp_sum(float v) {
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}

__device__ __forceinline__ float block_sum(float v) {
    __shared__ float sh[32];
    int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    v = warp_sum(v);
    if (lane == 0) sh[wid] = v;
    __syncthreads();
    int nw = (blockDim.x + 31) >> 5;
    v = (threadIdx.x < nw) ? sh[lane] : 0.0f;
    if (wid == 0) {
        v = warp_sum(v);
        if (lane == 0) sh[0] = v;
    }
    __syncthreads();
    return sh[0];
}

__device__ __forceinline__ float silu(float g) { return g / (1.0f + expf(-g)); }

__global__ void rms_gated_vec4(const float4* __restrict__ x, const float4* __restrict__ g,
                               const float4* __restrict__ w, float4* __restrict__ y, int d4, float inv_d, float eps) {
    const float4* xr = x + (size_t)blockIdx.x * d4;
    const float4* gr = g + (size_t)blockIdx.x * d4;
    float4* yr = y + (size_t)blockIdx.x * d4;
    float s = 0.0f;
    for (int i = threadIdx.x; i < d4; i += blockDim.x) {
        float4 v = xr[i];
        s += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    float inv = rsqrtf(block_sum(s) * inv_d + eps);
    for (int i = threadIdx.x; i < d4; i += blockDim.x) {
        float4 v = xr[i], q = gr[i], ww = w[i], o;
        o.x = v.x * inv * ww.x * silu(q.x);
        o.y = v.y * inv * ww.y * silu(q.y);
        o.z = v.z * inv * ww.z * silu(q.z);
        o.w = v.w * inv * ww.w * silu(q.w);
        yr[i] = o;
    }
}

__global__ void rms_gated_scalar(const float* __restrict__ x, const float* __restrict__ g,
                                 const float* __restrict__ w, float* __restrict__ y, int d, float inv_d, float eps) {
    size_t base = (size_t)blockIdx.x * d;
    float s = 0.0f;
    for (int i = threadIdx.x; i < d; i += blockDim.x) s += x[base + i] * x[base + i];
    float inv = rsqrtf(block_sum(s) * inv_d + eps);
    for (int i = threadIdx.x; i < d; i += blockDim.x)
        y[base + i] = x[base + i] * inv * w[i] * silu(g[base + i]);
}

torch::Tensor rms_gated(torch::Tensor x, torch::Tensor g, torch::Tensor w, double eps) {
    TORCH_CHECK(x.is_cuda() && g.is_cuda() && w.is_cuda(), "CUDA tensors expected");
    TORCH_CHECK(x.is_contiguous() && g.is_contiguous(), "contiguous tensors expected");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "float32 expected");
    int d = x.size(-1);
    int rows = x.numel() / d;
    auto y = torch::empty_like(x);
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    auto aligned = [](const torch::Tensor& t) { return reinterpret_cast<uintptr_t>(t.data_ptr()) % 16 == 0; };
    if (d % 4 == 0 && aligned(x) && aligned(g) && aligned(w) && aligned(y)) {
        rms_gated_vec4<<<rows, 128, 0, stream>>>(
            reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<const float4*>(g.data_ptr<float>()),
            reinterpret_cast<const float4*>(w.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()),
            d / 4, 1.0f / d, (float)eps);
    } else {
        rms_gated_scalar<<<rows, 128, 0, stream>>>(x.data_ptr<float>(), g.data_ptr<float>(), w.data_ptr<float>(),
                                                   y.data_ptr<float>(), d, 1.0f / d, (float)eps);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cpp_source = "torch::Tensor rms_gated(torch::Tensor x, torch::Tensor g, torch::Tensor w, double eps);"

rms_ext = load_inline(
    name="c_rms_gated_vec4",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["rms_gated"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x, gate):
        return rms_ext.rms_gated(x.contiguous(), gate.contiguous(), self.weight, self.eps)
