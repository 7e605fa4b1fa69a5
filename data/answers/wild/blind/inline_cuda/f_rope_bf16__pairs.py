import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

rope_cuda = r'''
#include <torch/extension.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void rope_kernel(const __nv_bfloat16* __restrict__ x, const float* __restrict__ cos_t,
                            const float* __restrict__ sin_t, __nv_bfloat16* __restrict__ y,
                            int total, int S, int half_dim)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int i = idx % half_dim;
    int row = idx / half_dim;       // (b * H + h) * S + s
    int s = row % S;
    long long base = (long long)row * 2 * half_dim;

    float x1 = __bfloat162float(x[base + i]);
    float x2 = __bfloat162float(x[base + half_dim + i]);
    float c = cos_t[s * half_dim + i];
    float sn = sin_t[s * half_dim + i];
    y[base + i] = __float2bfloat16(x1 * c - x2 * sn);
    y[base + half_dim + i] = __float2bfloat16(x2 * c + x1 * sn);
}

torch::Tensor rope_forward(torch::Tensor x, torch::Tensor cos_t, torch::Tensor sin_t) {
    TORCH_CHECK(x.scalar_type() == torch::kBFloat16, "expected bfloat16");
    TORCH_CHECK(x.size(2) <= cos_t.size(0), "sequence longer than the table");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int S = x.size(2);
    int half_dim = x.size(3) / 2;
    int total = x.numel() / 2;
    int threads = 256;
    int blocks = (total + threads - 1) / threads;
    rope_kernel<<<blocks, threads>>>(
        reinterpret_cast<const __nv_bfloat16*>(x.data_ptr<at::BFloat16>()),
        cos_t.data_ptr<float>(), sin_t.data_ptr<float>(),
        reinterpret_cast<__nv_bfloat16*>(y.data_ptr<at::BFloat16>()),
        total, S, half_dim);
    return y;
}
'''

rope_ext = load_inline(
    name='rope_bf16_ext',
    cpp_sources='torch::Tensor rope_forward(torch::Tensor x, torch::Tensor cos_t, torch::Tensor sin_t);',
    cuda_sources=rope_cuda,
    functions=['rope_forward'],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, max_seq, half_dim, base=10000.0):
        super().__init__()
        inv_freq = base ** (-torch.arange(half_dim).float() / half_dim)
        angles = torch.arange(max_seq).float()[:, None] * inv_freq[None, :]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        return rope_ext.rope_forward(x, self.cos, self.sin)
