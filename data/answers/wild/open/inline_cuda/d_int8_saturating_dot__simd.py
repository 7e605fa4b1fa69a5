import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <cuda_runtime.h>
#include <stdint.h>

__inline__ __device__ int block_sum(int v) {
    __shared__ int partial[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if (lane == 0) partial[warp] = v;
    __syncthreads();
    int nwarps = blockDim.x >> 5;
    v = (threadIdx.x < nwarps) ? partial[threadIdx.x] : 0;
    if (warp == 0)
        for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}

// four int8 lanes a word: saturating add and dp4a
__global__ void sat_dot_packed(const int* __restrict__ a, const int* __restrict__ b,
                               int* __restrict__ sat, int64_t* __restrict__ dots, int words) {
    const size_t base = (size_t)blockIdx.x * words;
    int acc = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x) {
        int va = a[base + i], vb = b[base + i];
        sat[base + i] = (int)__vaddss4((unsigned)va, (unsigned)vb);
        acc = __dp4a(va, vb, acc);
    }
    acc = block_sum(acc);
    if (threadIdx.x == 0) dots[blockIdx.x] = (int64_t)acc;
}

__global__ void sat_dot_bytes(const int8_t* __restrict__ a, const int8_t* __restrict__ b,
                              int8_t* __restrict__ sat, int64_t* __restrict__ dots, int cols) {
    const size_t base = (size_t)blockIdx.x * cols;
    int acc = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        int va = a[base + i], vb = b[base + i];
        sat[base + i] = (int8_t)max(-128, min(127, va + vb));
        acc += va * vb;
    }
    acc = block_sum(acc);
    if (threadIdx.x == 0) dots[blockIdx.x] = (int64_t)acc;
}

extern "C" void launch_sat_dot(const int8_t* a, const int8_t* b, int8_t* sat, int64_t* dots, int rows, int cols) {
    if (cols % 4 == 0) {
        sat_dot_packed<<<rows, 128>>>((const int*)a, (const int*)b, (int*)sat, dots, cols / 4);
    } else {
        sat_dot_bytes<<<rows, 128>>>(a, b, sat, dots, cols);
    }
}
"""

cpp_source = r"""
#include <torch/extension.h>
#include <vector>

extern "C" void launch_sat_dot(const int8_t* a, const int8_t* b, int8_t* sat, int64_t* dots, int rows, int cols);

std::vector<torch::Tensor> sat_dot(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.scalar_type() == torch::kChar && b.scalar_type() == torch::kChar, "int8 tensors expected");
    TORCH_CHECK(a.is_contiguous() && b.is_contiguous(), "contiguous tensors expected");
    auto sat = torch::empty_like(a);
    auto dots = torch::empty({a.size(0)}, a.options().dtype(torch::kLong));
    launch_sat_dot(a.data_ptr<int8_t>(), b.data_ptr<int8_t>(), sat.data_ptr<int8_t>(),
                   dots.data_ptr<int64_t>(), (int)a.size(0), (int)a.size(1));
    return {sat, dots};
}
"""

sat_ext = load_inline(
    name="int8_sat_dot",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["sat_dot"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        saturated, dots = sat_ext.sat_dot(a.contiguous(), b.contiguous())
        return saturated, dots
