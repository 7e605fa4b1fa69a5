import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

rms_gate_source = """
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

template <int NT>
__device__ __forceinline__ float block_sum(float v) {
    __shared__ float buf[NT / 32];
    #pragma unroll
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffff, v, o);
    if ((threadIdx.x & 31) == 0) buf[threadIdx.x >> 5] = v;
    __syncthreads();
    float t = 0.f;
    #pragma unroll
    for (int i = 0; i < NT / 32; i++) t += buf[i];
    return t;
}

__device__ __forceinline__ float silu(float g) { return g / (1.f + __expf(-g)); }

template <int NT, bool VEC>
__global__ void rms_gate_kernel(const float* __restrict__ x, const float* __restrict__ g,
                                const float* __restrict__ w, float* __restrict__ y, int D, float eps) {
    const size_t base = (size_t)blockIdx.x * D;
    float ss = 0.f;
    if (VEC) {
        const float4* x4 = reinterpret_cast<const float4*>(x + base);
        const float4* g4 = reinterpret_cast<const float4*>(g + base);
        const float4* w4 = reinterpret_cast<const float4*>(w);
        float4* y4 = reinterpret_cast<float4*>(y + base);
        for (int i = threadIdx.x; i < D / 4; i += NT) {
            float4 v = x4[i];
            ss += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        }
        const float r = rsqrtf(block_sum<NT>(ss) / D + eps);
        for (int i = threadIdx.x; i < D / 4; i += NT) {
            float4 v = x4[i], gg = g4[i], ww = w4[i], o;
            o.x = v.x * r * ww.x * silu(gg.x);
            o.y = v.y * r * ww.y * silu(gg.y);
            o.z = v.z * r * ww.z * silu(gg.z);
            o.w = v.w * r * ww.w * silu(gg.w);
            y4[i] = o;
        }
    } else {
        for (int i = threadIdx.x; i < D; i += NT) { float v = x[base + i]; ss += v * v; }
        const float r = rsqrtf(block_sum<NT>(ss) / D + eps);
        for (int i = threadIdx.x; i < D; i += NT)
            y[base + i] = x[base + i] * r * w[i] * silu(g[base + i]);
    }
}

torch::Tensor rms_gate_cuda(torch::Tensor x, torch::Tensor g, torch::Tensor w, float eps) {
    x = x.contiguous();
    g = g.contiguous();
    const int D = x.size(-1);
    const int rows = x.numel() / D;
    auto y = torch::empty_like(x);
    if (D % 4 == 0)
        rms_gate_kernel<128, true><<<rows, 128>>>(x.data_ptr<float>(), g.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), D, eps);
    else
        rms_gate_kernel<128, false><<<rows, 128>>>(x.data_ptr<float>(), g.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), D, eps);
    return y;
}
"""

rms_gate_cpp_source = "torch::Tensor rms_gate_cuda(torch::Tensor x, torch::Tensor g, torch::Tensor w, float eps);"

rms_gate = load_inline(
    name="rms_gate_f4",
    cpp_sources=rms_gate_cpp_source,
    cuda_sources=rms_gate_source,
    functions=["rms_gate_cuda"],
    verbose=True,
    extra_cflags=[""],
    extra_ldflags=[""],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super(ModelNew, self).__init__()
        self.weight = nn.Parameter(1.0 + 0.05 * torch.randn(dim))
        self.eps = eps
        self.rms_gate = rms_gate

    def forward(self, x, gate):
        return self.rms_gate.rms_gate_cuda(x, gate, self.weight, self.eps)
