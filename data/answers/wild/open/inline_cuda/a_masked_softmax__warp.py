import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

template <typename T, int D>
using Acc = torch::PackedTensorAccessor32<T, D, torch::RestrictPtrTraits>;

__device__ __forceinline__ float warp_max(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
    return v;
}
__device__ __forceinline__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}

// one warp per row
__global__ void masked_softmax_kernel(Acc<float, 4> scores, Acc<bool, 4> mask, Acc<float, 4> out) {
    const int H = scores.size(1), Q = scores.size(2), K = scores.size(3);
    const int rows = scores.size(0) * H * Q;
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const int q = row % Q;
    const int h = (row / Q) % H;
    const int b = row / (Q * H);

    float m = -INFINITY;
    for (int k = threadIdx.x; k < K; k += 32)
        if (mask[b][h][q][k]) m = fmaxf(m, scores[b][h][q][k]);
    m = warp_max(m);

    float s = 0.f;
    for (int k = threadIdx.x; k < K; k += 32)
        if (mask[b][h][q][k]) s += expf(scores[b][h][q][k] - m);
    s = warp_sum(s);
    const float inv = 1.f / s;

    for (int k = threadIdx.x; k < K; k += 32)
        out[b][h][q][k] = mask[b][h][q][k] ? expf(scores[b][h][q][k] - m) * inv : 0.f;
}

torch::Tensor masked_softmax(torch::Tensor scores, torch::Tensor mask) {
    TORCH_CHECK(scores.dim() == 4 && mask.dim() == 4, "expected 4-D tensors");
    TORCH_CHECK(mask.scalar_type() == torch::kBool, "mask must be bool");
    auto m = mask.expand_as(scores);
    auto out = torch::empty_like(scores);
    const int rows = scores.size(0) * scores.size(1) * scores.size(2);
    dim3 block(32, 4);
    dim3 grid((rows + 3) / 4);
    masked_softmax_kernel<<<grid, block>>>(
        scores.packed_accessor32<float, 4, torch::RestrictPtrTraits>(),
        m.packed_accessor32<bool, 4, torch::RestrictPtrTraits>(),
        out.packed_accessor32<float, 4, torch::RestrictPtrTraits>());
    return out;
}
"""

module = load_inline(
    name="a_masked_softmax_warp",
    cpp_sources="torch::Tensor masked_softmax(torch::Tensor scores, torch::Tensor mask);",
    cuda_sources=source,
    functions=["masked_softmax"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, scores, mask):
        return module.masked_softmax(scores, mask)
