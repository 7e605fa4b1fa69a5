import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <ATen/cuda/CUDAContext.h>
#include <tuple>

__device__ __forceinline__ float sum_block(float v, float* sh) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    if ((threadIdx.x & 31) == 0) sh[threadIdx.x >> 5] = v;
    __syncthreads();
    float t = 0.f;
    for (int i = 0; i < (blockDim.x >> 5); ++i) t += sh[i];
    __syncthreads();
    return t;
}

__global__ void add_ln_half2(const __half2* __restrict__ x, const __half2* __restrict__ r,
                             const __half2* __restrict__ w, const __half2* __restrict__ b,
                             __half2* __restrict__ y, __half2* __restrict__ s, int n2, float eps) {
    __shared__ float sh[32];
    const size_t base = (size_t)blockIdx.x * n2;
    const int n = 2 * n2;
    float acc = 0.f;
    for (int i = threadIdx.x; i < n2; i += blockDim.x) {
        __half2 t = __hadd2(x[base + i], r[base + i]);
        s[base + i] = t;
        float2 f = __half22float2(t);
        acc += f.x + f.y;
    }
    const float mu = sum_block(acc, sh) / n;
    float sq = 0.f;
    for (int i = threadIdx.x; i < n2; i += blockDim.x) {
        float2 f = __half22float2(s[base + i]);     // written by this very thread
        sq += (f.x - mu) * (f.x - mu) + (f.y - mu) * (f.y - mu);
    }
    const float rs = rsqrtf(sum_block(sq, sh) / n + eps);
    for (int i = threadIdx.x; i < n2; i += blockDim.x) {
        float2 f = __half22float2(s[base + i]);
        float2 ww = __half22float2(w[i]), bb = __half22float2(b[i]);
        y[base + i] = __floats2half2_rn((f.x - mu) * rs * ww.x + bb.x, (f.y - mu) * rs * ww.y + bb.y);
    }
}

__global__ void add_ln_half(const __half* __restrict__ x, const __half* __restrict__ r,
                            const __half* __restrict__ w, const __half* __restrict__ b,
                            __half* __restrict__ y, __half* __restrict__ s, int n, float eps) {
    __shared__ float sh[32];
    const size_t base = (size_t)blockIdx.x * n;
    float acc = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        __half t = __float2half(__half2float(x[base + i]) + __half2float(r[base + i]));
        s[base + i] = t;
        acc += __half2float(t);
    }
    const float mu = sum_block(acc, sh) / n;
    float sq = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float d = __half2float(s[base + i]) - mu;
        sq += d * d;
    }
    const float rs = rsqrtf(sum_block(sq, sh) / n + eps);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[base + i] = __float2half((__half2float(s[base + i]) - mu) * rs * __half2float(w[i]) + __half2float(b[i]));
}

std::tuple<torch::Tensor, torch::Tensor> add_layer_norm(torch::Tensor x, torch::Tensor r, torch::Tensor w, torch::Tensor b, double eps) {
    TORCH_CHECK(x.scalar_type() == at::kHalf && r.scalar_type() == at::kHalf, "half inputs expected");
    TORCH_CHECK(x.sizes() == r.sizes());
    x = x.contiguous();
    r = r.contiguous();
    auto y = torch::empty_like(x);
    auto s = torch::empty_like(x);
    const int n = x.size(-1);
    const int rows = x.numel() / n;
    auto stream = at::cuda::getCurrentCUDAStream();
    if (n % 2 == 0) {
        add_ln_half2<<<rows, 128, 0, stream>>>(
            reinterpret_cast<const __half2*>(x.data_ptr<at::Half>()), reinterpret_cast<const __half2*>(r.data_ptr<at::Half>()),
            reinterpret_cast<const __half2*>(w.data_ptr<at::Half>()), reinterpret_cast<const __half2*>(b.data_ptr<at::Half>()),
            reinterpret_cast<__half2*>(y.data_ptr<at::Half>()), reinterpret_cast<__half2*>(s.data_ptr<at::Half>()), n / 2, (float)eps);
    } else {
        add_ln_half<<<rows, 128, 0, stream>>>(
            reinterpret_cast<const __half*>(x.data_ptr<at::Half>()), reinterpret_cast<const __half*>(r.data_ptr<at::Half>()),
            reinterpret_cast<const __half*>(w.data_ptr<at::Half>()), reinterpret_cast<const __half*>(b.data_ptr<at::Half>()),
            reinterpret_cast<__half*>(y.data_ptr<at::Half>()), reinterpret_cast<__half*>(s.data_ptr<at::Half>()), n, (float)eps);
    }
    return std::make_tuple(y, s);
}
"""

cpp = "#include <tuple>\nstd::tuple<torch::Tensor, torch::Tensor> add_layer_norm(torch::Tensor x, torch::Tensor r, torch::Tensor w, torch::Tensor b, double eps);"

addln = load_inline(name="add_layer_norm_half2", cpp_sources=cpp, cuda_sources=src, functions=["add_layer_norm"])


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((1.0 + 0.1 * torch.randn(width)).half())
        self.bias = nn.Parameter((0.1 * torch.randn(width)).half())

    @torch.no_grad()
    def forward(self, x, residual):
        return addln.add_layer_norm(x, residual, self.weight, self.bias, self.eps)
