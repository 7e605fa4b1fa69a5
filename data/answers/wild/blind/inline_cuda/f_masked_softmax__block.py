import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <float.h>

__global__ void masked_softmax_kernel(const float* __restrict__ scores, const bool* __restrict__ mask,
                                      float* __restrict__ out, int rows_per_batch, int K, float inv_temp) {
    extern __shared__ float sdata[];
    int row = blockIdx.x;
    int tid = threadIdx.x;
    const float* s = scores + (size_t)row * K;
    const bool* m = mask + (size_t)(row / rows_per_batch) * K;
    float* o = out + (size_t)row * K;

    // max
    float local_max = -FLT_MAX;
    for (int i = tid; i < K; i += blockDim.x) {
        if (m[i]) local_max = fmaxf(local_max, s[i] * inv_temp);
    }
    sdata[tid] = local_max;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride) sdata[tid] = fmaxf(sdata[tid], sdata[tid + stride]);
        __syncthreads();
    }
    float row_max = sdata[0];
    __syncthreads();

    // sum
    float local_sum = 0.0f;
    for (int i = tid; i < K; i += blockDim.x) {
        float e = m[i] ? expf(s[i] * inv_temp - row_max) : 0.0f;
        o[i] = e;
        local_sum += e;
    }
    sdata[tid] = local_sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride) sdata[tid] += sdata[tid + stride];
        __syncthreads();
    }
    float inv_sum = 1.0f / sdata[0];

    for (int i = tid; i < K; i += blockDim.x) o[i] *= inv_sum;
}

torch::Tensor masked_softmax_cuda(torch::Tensor scores, torch::Tensor mask, double temperature) {
    int K = scores.size(-1);
    int B = scores.size(0);
    int rows = scores.numel() / K;
    auto out = torch::empty_like(scores);
    int threads = 128;
    masked_softmax_kernel<<<rows, threads, threads * sizeof(float)>>>(
        scores.data_ptr<float>(), mask.data_ptr<bool>(), out.data_ptr<float>(),
        rows / B, K, (float)(1.0 / temperature));
    return out;
}
"""

cpp_source = "torch::Tensor masked_softmax_cuda(torch::Tensor scores, torch::Tensor mask, double temperature);"

masked_softmax = load_inline(
    name='masked_softmax_ext',
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=['masked_softmax_cuda'],
    verbose=False
)

class ModelNew(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature
        self.op = masked_softmax

    def forward(self, scores, mask):
        return self.op.masked_softmax_cuda(scores.contiguous(), mask.contiguous(), self.temperature)
