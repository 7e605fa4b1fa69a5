import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_code = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

constexpr int NT = 256;
constexpr int NW = NT / 32;

__global__ void silu_cumsum_kernel(const float* __restrict__ x, float* __restrict__ y, int L) {
    __shared__ float warp_sums[NW];
    __shared__ float carry;
    const int tid = threadIdx.x, lane = tid & 31, wid = tid >> 5;
    const float* xr = x + (size_t)blockIdx.x * L;
    float* yr = y + (size_t)blockIdx.x * L;
    if (tid == 0) carry = 0.f;

    for (int start = 0; start < L; start += NT) {
        const int i = start + tid;
        float v = 0.f;
        if (i < L) {
            float t = xr[i];
            v = t / (1.f + expf(-t));
        }
        // inclusive scan in the warp
        #pragma unroll
        for (int o = 1; o < 32; o <<= 1) {
            float u = __shfl_up_sync(0xffffffff, v, o);
            if (lane >= o) v += u;
        }
        if (lane == 31) warp_sums[wid] = v;
        __syncthreads();
        float prefix = carry;
        for (int w = 0; w < wid; ++w) prefix += warp_sums[w];
        v += prefix;
        if (i < L) yr[i] = v;
        __syncthreads();             // everyone has read carry and warp_sums
        if (tid == NT - 1) carry = v;
        __syncthreads();
    }
}

torch::Tensor silu_cumsum(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "CUDA tensor expected");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int L = x.size(-1);
    const int rows = x.numel() / L;
    silu_cumsum_kernel<<<rows, NT>>>(x.data_ptr<float>(), y.data_ptr<float>(), L);
    return y;
}
"""

scan_ext = load_inline(
    name="a_silu_cumsum_warpscan",
    cpp_sources="torch::Tensor silu_cumsum(torch::Tensor x);",
    cuda_sources=cuda_code,
    functions=["silu_cumsum"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scan = scan_ext

    def forward(self, input):
        return self.scan.silu_cumsum(input)
