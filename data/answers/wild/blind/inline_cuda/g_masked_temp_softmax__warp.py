import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>

constexpr int WARPS_PER_BLOCK = 8;

// One warp per row, online (max, sum) in a single read, then normalise.
__global__ void __launch_bounds__(WARPS_PER_BLOCK * 32)
masked_softmax_warp(const float* __restrict__ scores, const bool* __restrict__ mask, float* __restrict__ out,
                    int64_t n_rows, int64_t rows_per_batch, int n, float inv_temp)
{
    const int lane = threadIdx.x & 31;
    const int64_t row = (int64_t)blockIdx.x * WARPS_PER_BLOCK + (threadIdx.x >> 5);
    if (row >= n_rows) return;

    const float* s = scores + row * n;
    const bool* k = mask + (row / rows_per_batch) * n;
    float* o = out + row * n;

    float m = -1e30f, l = 0.f;
    for (int c = lane; c < n; c += 32) {
        const float v = k[c] ? s[c] * inv_temp : -1e4f;
        if (v > m) {
            l *= __expf(m - v);
            m = v;
        }
        l += __expf(v - m);
    }
    #pragma unroll
    for (int off = 16; off; off >>= 1) {
        const float om = __shfl_xor_sync(0xffffffff, m, off);
        const float ol = __shfl_xor_sync(0xffffffff, l, off);
        const float nm = fmaxf(m, om);
        l = l * __expf(m - nm) + ol * __expf(om - nm);
        m = nm;
    }
    const float inv = 1.f / l;
    for (int c = lane; c < n; c += 32) {
        const float v = k[c] ? s[c] * inv_temp : -1e4f;
        __stcs(o + c, __expf(v - m) * inv);
    }
}

torch::Tensor masked_softmax(torch::Tensor scores, torch::Tensor mask, double temperature) {
    TORCH_CHECK(scores.is_cuda() && mask.is_cuda(), "CUDA tensors expected");
    TORCH_CHECK(mask.scalar_type() == torch::kBool, "mask must be bool");
    TORCH_CHECK(scores.dim() == 4 && mask.dim() == 2);
    scores = scores.contiguous();
    mask = mask.contiguous();
    auto out = torch::empty_like(scores);
    const int n = scores.size(3);
    const int64_t rpb = scores.size(1) * scores.size(2);
    const int64_t rows = rpb * scores.size(0);
    const int blocks = (rows + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK;
    masked_softmax_warp<<<blocks, WARPS_PER_BLOCK * 32, 0, c10::cuda::getCurrentCUDAStream()>>>(
        scores.data_ptr<float>(), mask.data_ptr<bool>(), out.data_ptr<float>(),
        rows, rpb, n, 1.0f / (float)temperature);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

mod = load_inline(
    name="g_masked_softmax_warp",
    cpp_sources=["torch::Tensor masked_softmax(torch::Tensor scores, torch::Tensor mask, double temperature);"],
    cuda_sources=[cuda_src],
    functions=["masked_softmax"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, scores, mask):
        return mod.masked_softmax(scores, mask, self.temperature)
