import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
import numpy as np

cuda_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cub/cub.cuh>
#include <cfloat>

constexpr int THREADS = 256;

struct MaxFunctor {
    template <typename T>
    __host__ __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a > b ? a : b; }
};

__global__ void ce_rows_kernel(const float* __restrict__ logits, const int64_t* __restrict__ targets,
                               float* __restrict__ losses, int C, float smoothing) {
    using BlockReduce = cub::BlockReduce<float, THREADS>;
    __shared__ typename BlockReduce::TempStorage temp;
    __shared__ float s_max;

    const float* row = logits + (int64_t)blockIdx.x * C;
    float m = -FLT_MAX, total = 0.f;
    for (int c = threadIdx.x; c < C; c += THREADS) {
        float v = row[c];
        m = fmaxf(m, v);
        total += v;
    }
    m = BlockReduce(temp).Reduce(m, MaxFunctor());
    if (threadIdx.x == 0) s_max = m;
    __syncthreads();
    m = s_max;

    float se = 0.f;
    for (int c = threadIdx.x; c < C; c += THREADS) se += expf(row[c] - m);
    se = BlockReduce(temp).Sum(se);
    __syncthreads();
    total = BlockReduce(temp).Sum(total);

    if (threadIdx.x == 0) {
        float lse = m + logf(se);
        float nll = lse - row[targets[blockIdx.x]];
        float smooth = lse - total / C;
        losses[blockIdx.x] = (1.f - smoothing) * nll + smoothing * smooth;
    }
}

__global__ void mean_kernel(const float* __restrict__ losses, float* __restrict__ out, int N) {
    using BlockReduce = cub::BlockReduce<float, THREADS>;
    __shared__ typename BlockReduce::TempStorage temp;
    float s = 0.f;
    for (int i = threadIdx.x; i < N; i += THREADS) s += losses[i];
    s = BlockReduce(temp).Sum(s);
    if (threadIdx.x == 0) out[0] = s / N;
}

torch::Tensor label_smooth_ce(torch::Tensor logits, torch::Tensor targets, double smoothing) {
    const int N = logits.size(0), C = logits.size(1);
    auto losses = torch::empty({N}, logits.options());
    auto out = torch::empty({}, logits.options());
    ce_rows_kernel<<<N, THREADS>>>(logits.data_ptr<float>(), targets.data_ptr<int64_t>(),
                                   losses.data_ptr<float>(), C, (float)smoothing);
    mean_kernel<<<1, THREADS>>>(losses.data_ptr<float>(), out.data_ptr<float>(), N);
    return out;
}
"""

cpp_source = """
torch::Tensor label_smooth_ce(torch::Tensor logits, torch::Tensor targets, double smoothing);
"""

ce_ext = load_inline(
    name="a_label_smooth_ce_cub",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["label_smooth_ce"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, smoothing):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits, targets):
        return ce_ext.label_smooth_ce(logits.contiguous(), targets.contiguous(), self.smoothing)
