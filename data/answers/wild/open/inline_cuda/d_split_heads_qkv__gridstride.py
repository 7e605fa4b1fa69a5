import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

split_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

#define CUDA_CHECK(expr) do { cudaError_t e_ = (expr); \\
    TORCH_CHECK(e_ == cudaSuccess, "CUDA error: ", cudaGetErrorString(e_)); } while (0)

template <typename T>
__global__ void split_heads_kernel(const T* __restrict__ qkv, T* __restrict__ q, T* __restrict__ k,
                                   T* __restrict__ v, float scale,
                                   int S, int H, int D, long long n) {
    // n = B*H*S*D, output index order (b, h, s, d)
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (long long)gridDim.x * blockDim.x) {
        int d = i % D;
        long long r = i / D;
        int s = r % S;
        r /= S;
        int h = r % H;
        long long b = r / H;
        const T* src = qkv + (b * S + s) * 3LL * H * D + h * D + d;
        q[i] = (T)((float)src[0] * scale);
        k[i] = src[H * D];
        v[i] = src[2 * H * D];
    }
}

std::vector<torch::Tensor> split_heads(torch::Tensor qkv, int64_t heads, double scale) {
    TORCH_CHECK(qkv.dim() == 3, "qkv must be (batch, seq, 3*heads*dim)");
    qkv = qkv.contiguous();
    int64_t B = qkv.size(0), S = qkv.size(1), D = qkv.size(2) / (3 * heads);
    auto q = torch::empty({B, heads, S, D}, qkv.options());
    auto k = torch::empty_like(q);
    auto v = torch::empty_like(q);
    long long n = q.numel();
    int blocks = (int)std::min<long long>((n + 255) / 256, 2048);
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(qkv.scalar_type(), "split_heads", [&] {
        split_heads_kernel<scalar_t><<<blocks, 256>>>(
            qkv.data_ptr<scalar_t>(), q.data_ptr<scalar_t>(), k.data_ptr<scalar_t>(), v.data_ptr<scalar_t>(),
            (float)scale, (int)S, (int)heads, (int)D, n);
    });
    CUDA_CHECK(cudaGetLastError());
    return {q, k, v};
}
"""

_split = load_inline(
    name="split_heads_qkv",
    cpp_sources="std::vector<torch::Tensor> split_heads(torch::Tensor qkv, int64_t heads, double scale);",
    cuda_sources=split_src,
    functions=["split_heads"],
)


class ModelNew(nn.Module):
    def __init__(self, heads, head_dim):
        super().__init__()
        self.heads = heads
        self.head_dim = head_dim
        self.scale = head_dim ** -0.5

    def forward(self, qkv):
        return tuple(_split.split_heads(qkv, self.heads, self.scale))
