import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cstdint>

__device__ __forceinline__ int8_t requant(int8_t x, float s, float inv, float zp) {
    float f = __fmul_rn((float)x, s);
    f = f > 0.f ? f : __fmul_rn(f, 0.125f);
    float q = rintf(__fmul_rn(f, inv)) + zp;   // half to even like torch.round
    q = fminf(fmaxf(q, -128.f), 127.f);
    return (int8_t)(int)q;
}

__global__ void requant4(const char4* __restrict__ x, const float4* __restrict__ s, char4* __restrict__ y,
                         int n4, int c4, float inv, float zp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        char4 v = x[i];
        float4 sc = __ldg(s + i % c4);
        char4 o;
        o.x = requant(v.x, sc.x, inv, zp);
        o.y = requant(v.y, sc.y, inv, zp);
        o.z = requant(v.z, sc.z, inv, zp);
        o.w = requant(v.w, sc.w, inv, zp);
        y[i] = o;
    }
}

__global__ void requant1(const int8_t* __restrict__ x, const float* __restrict__ s, int8_t* __restrict__ y,
                         int n, int c, float inv, float zp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = requant(x[i], s[i % c], inv, zp);
}

torch::Tensor requant_leaky(torch::Tensor x, torch::Tensor scale, double inv_scale, int64_t zero_point) {
    TORCH_CHECK(x.scalar_type() == torch::kInt8, "x must be int8");
    TORCH_CHECK(x.size(-1) == scale.numel(), "channel mismatch");
    auto y = torch::empty_like(x);
    int n = x.numel(), c = scale.numel();
    const int threads = 256;
    if (c % 4 == 0) {
        int n4 = n / 4;
        requant4<<<(n4 + threads - 1) / threads, threads>>>(
            (const char4*)x.data_ptr<int8_t>(), (const float4*)scale.data_ptr<float>(),
            (char4*)y.data_ptr<int8_t>(), n4, c / 4, (float)inv_scale, (float)zero_point);
    } else {
        requant1<<<(n + threads - 1) / threads, threads>>>(
            x.data_ptr<int8_t>(), scale.data_ptr<float>(), y.data_ptr<int8_t>(), n, c,
            (float)inv_scale, (float)zero_point);
    }
    return y;
}
"""

ext = load_inline(
    name="a_int8_requant_char4",
    cpp_sources="torch::Tensor requant_leaky(torch::Tensor x, torch::Tensor scale, double inv_scale, int64_t zero_point);",
    cuda_sources=source,
    functions=["requant_leaky"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, out_scale, zero_point):
        super().__init__()
        self.register_buffer("in_scale", torch.rand(channels) * 0.05 + 0.01)
        self.inv_scale = 1.0 / out_scale
        self.zero_point = zero_point

    def forward(self, x):
        return ext.requant_leaky(x.contiguous(), self.in_scale, self.inv_scale, self.zero_point)
