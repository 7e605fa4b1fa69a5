import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <cstdint>

__device__ __forceinline__ float gelu_tanh(float v) {
    const float kAlpha = 0.7978845608028654f;   // sqrt(2/pi)
    const float kBeta = 0.044715f;
    return 0.5f * v * (1.0f + tanhf(kAlpha * (v + kBeta * v * v * v)));
}

__global__ void affine_gelu_vec4(const float4* __restrict__ x, const float4* __restrict__ scale,
                                 const float4* __restrict__ shift, float4* __restrict__ y,
                                 int64_t n4, int f4) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    int f = (int)(i % f4);
    float4 v = x[i];
    float4 s = __ldg(&scale[f]);
    float4 t = __ldg(&shift[f]);
    float4 o;
    o.x = gelu_tanh(fmaf(v.x, s.x, t.x));
    o.y = gelu_tanh(fmaf(v.y, s.y, t.y));
    o.z = gelu_tanh(fmaf(v.z, s.z, t.z));
    o.w = gelu_tanh(fmaf(v.w, s.w, t.w));
    y[i] = o;
}

__global__ void affine_gelu_scalar(const float* __restrict__ x, const float* __restrict__ scale,
                                   const float* __restrict__ shift, float* __restrict__ y,
                                   int64_t n, int features) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int f = (int)(i % features);
        y[i] = gelu_tanh(fmaf(x[i], scale[f], shift[f]));
    }
}

static bool aligned16(const void* p) { return (reinterpret_cast<uintptr_t>(p) & 15) == 0; }

torch::Tensor affine_gelu(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x must be a contiguous CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "float32 only");
    TORCH_CHECK(scale.numel() == x.size(-1) && shift.numel() == x.size(-1), "feature size mismatch");
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    if (n == 0) return y;
    const int features = (int)x.size(-1);
    const float* xp = x.data_ptr<float>();
    const float* sp = scale.data_ptr<float>();
    const float* tp = shift.data_ptr<float>();
    float* yp = y.data_ptr<float>();
    auto stream = at::cuda::getCurrentCUDAStream();
    const int threads = 256;
    if (features % 4 == 0 && aligned16(xp) && aligned16(sp) && aligned16(tp) && aligned16(yp)) {
        const int64_t n4 = n / 4;
        const int blocks = (int)((n4 + threads - 1) / threads);
        affine_gelu_vec4<<<blocks, threads, 0, stream>>>(
            reinterpret_cast<const float4*>(xp), reinterpret_cast<const float4*>(sp),
            reinterpret_cast<const float4*>(tp), reinterpret_cast<float4*>(yp), n4, features / 4);
    } else {
        const int blocks = (int)((n + threads - 1) / threads);
        affine_gelu_scalar<<<blocks, threads, 0, stream>>>(xp, sp, tp, yp, n, features);
    }
    return y;
}
"""

cpp_src = "torch::Tensor affine_gelu(torch::Tensor x, torch::Tensor scale, torch::Tensor shift);"

_ext = load_inline(
    name="e_affine_gelu_vec4",
    cpp_sources=cpp_src,
    cuda_sources=cuda_src,
    functions=["affine_gelu"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(features))
        self.shift = nn.Parameter(torch.randn(features))

    def forward(self, x):
        return _ext.affine_gelu(x.contiguous(), self.scale, self.shift)
