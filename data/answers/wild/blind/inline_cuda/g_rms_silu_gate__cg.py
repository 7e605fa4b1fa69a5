import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Warp-per-row RMSNorm + SiLU gate using cooperative groups.
CUDA = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void rms_gate_warp(const float* __restrict__ x, const float* __restrict__ gate,
                              const float* __restrict__ w, float* __restrict__ y,
                              const int rows, const int D, const float inv_d, const float eps) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    const int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (row >= rows) return;

    const float* xr = x + (int64_t)row * D;
    const float* gr = gate + (int64_t)row * D;
    float* yr = y + (int64_t)row * D;

    float acc = 0.0f;
    #pragma unroll 4
    for (int i = tile.thread_rank(); i < D; i += 32) {
        const float v = __ldg(xr + i);
        acc = fmaf(v, v, acc);
    }
    acc = cg::reduce(tile, acc, cg::plus<float>());
    const float inv = rsqrtf(acc * inv_d + eps);

    #pragma unroll 4
    for (int i = tile.thread_rank(); i < D; i += 32) {
        const float g = __ldg(gr + i);
        const float sig = __fdividef(1.0f, 1.0f + __expf(-g));
        yr[i] = xr[i] * inv * __ldg(w + i) * g * sig;
    }
}

at::Tensor forward(const at::Tensor& x_, const at::Tensor& gate_, const at::Tensor& w, double eps) {
    TORCH_CHECK(x_.sizes() == gate_.sizes(), "x and gate must have equal shapes");
    auto x = x_.contiguous(), gate = gate_.contiguous();
    auto y = at::empty_like(x);
    const int D = x.size(-1);
    const int rows = x.numel() / D;
    const int warps = 4;
    rms_gate_warp<<<(rows + warps - 1) / warps, warps * 32, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), gate.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(),
        rows, D, 1.0f / D, (float)eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "rms norm + silu gate");
}
"""

_kernel = load_inline(name="g_rms_gate_cg", cpp_sources="", cuda_sources=CUDA,
                      extra_cuda_cflags=["-O3", "-std=c++17"])


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.05 * torch.randn(dim))
        self.eps = eps

    def forward(self, x, gate):
        return _kernel.forward(x, gate, self.weight, self.eps)
