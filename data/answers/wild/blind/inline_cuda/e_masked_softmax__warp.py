import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

masked_softmax_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <float.h>

#define WARP_SIZE 32
#define ROWS_PER_BLOCK 4

__inline__ __device__ float warpReduceMax(float val) {
    for (int mask = WARP_SIZE / 2; mask > 0; mask /= 2)
        val = fmaxf(val, __shfl_xor_sync(0xffffffff, val, mask));
    return val;
}

__inline__ __device__ float warpReduceSum(float val) {
    for (int mask = WARP_SIZE / 2; mask > 0; mask /= 2)
        val += __shfl_xor_sync(0xffffffff, val, mask);
    return val;
}

// one warp per row
__global__ void masked_softmax_kernel(
    const float* __restrict__ scores,
    const bool* __restrict__ mask,
    float* __restrict__ out,
    int num_rows, int rows_per_batch, int K, float scale)
{
    int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.y;
    if (row >= num_rows) return;   // whole warp leaves together
    int lane = threadIdx.x;
    const float* s = scores + (long long)row * K;
    const bool* m = mask + (long long)(row / rows_per_batch) * K;
    float* o = out + (long long)row * K;

    float max_val = -FLT_MAX;
    for (int k = lane; k < K; k += WARP_SIZE) {
        float v = m[k] ? s[k] * scale : -1e9f;
        max_val = fmaxf(max_val, v);
    }
    max_val = warpReduceMax(max_val);

    float sum = 0.0f;
    for (int k = lane; k < K; k += WARP_SIZE) {
        float v = m[k] ? s[k] * scale : -1e9f;
        float e = expf(v - max_val);
        o[k] = e;
        sum += e;
    }
    sum = warpReduceSum(sum);
    float inv = 1.0f / sum;
    // each lane touches only what it wrote itself
    for (int k = lane; k < K; k += WARP_SIZE) {
        o[k] *= inv;
    }
}

torch::Tensor masked_softmax_cuda(torch::Tensor scores, torch::Tensor mask, double scale) {
    auto out = torch::empty_like(scores);
    int B = scores.size(0);
    int K = scores.size(3);
    int num_rows = scores.numel() / K;
    int rows_per_batch = num_rows / B;
    dim3 block(WARP_SIZE, ROWS_PER_BLOCK);
    dim3 grid((num_rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK);
    masked_softmax_kernel<<<grid, block>>>(
        scores.data_ptr<float>(), mask.data_ptr<bool>(), out.data_ptr<float>(),
        num_rows, rows_per_batch, K, (float)scale);
    return out;
}
"""

masked_softmax_cpp_source = (
    "torch::Tensor masked_softmax_cuda(torch::Tensor scores, torch::Tensor mask, double scale);"
)

masked_softmax = load_inline(
    name="masked_softmax_warp",
    cpp_sources=masked_softmax_cpp_source,
    cuda_sources=masked_softmax_source,
    functions=["masked_softmax_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super(ModelNew, self).__init__()
        self.scale = scale
        self.op = masked_softmax

    def forward(self, scores, mask):
        return self.op.masked_softmax_cuda(scores.contiguous(), mask.contiguous(), self.scale)
