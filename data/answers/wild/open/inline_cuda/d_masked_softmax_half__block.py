import hashlib
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOFTMAX_CUDA = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <cfloat>

template <int BLOCK>
__device__ float block_reduce_max(float v, float* red) {
    red[threadIdx.x] = v;
    __syncthreads();
    #pragma unroll
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x + s]);
        __syncthreads();
    }
    float r = red[0];
    __syncthreads();
    return r;
}

template <int BLOCK>
__device__ float block_reduce_sum(float v, float* red) {
    red[threadIdx.x] = v;
    __syncthreads();
    #pragma unroll
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s];
        __syncthreads();
    }
    float r = red[0];
    __syncthreads();
    return r;
}

template <int BLOCK>
__global__ void masked_softmax_kernel(const __half* __restrict__ scores, const bool* __restrict__ mask,
                                      __half* __restrict__ out, float scale, int rows_per_batch, int K) {
    extern __shared__ float row[];
    __shared__ float red[BLOCK];
    const size_t base = (size_t)blockIdx.x * K;
    const bool* m = mask + (size_t)(blockIdx.x / rows_per_batch) * K;

    float mx = -FLT_MAX;
    for (int k = threadIdx.x; k < K; k += BLOCK) {
        float v = m[k] ? __half2float(scores[base + k]) * scale : -65504.0f;
        row[k] = v;
        mx = fmaxf(mx, v);
    }
    mx = block_reduce_max<BLOCK>(mx, red);

    float sum = 0.0f;
    for (int k = threadIdx.x; k < K; k += BLOCK) {
        float e = __expf(row[k] - mx);
        row[k] = e;
        sum += e;
    }
    sum = block_reduce_sum<BLOCK>(sum, red);

    const float inv = 1.0f / sum;
    for (int k = threadIdx.x; k < K; k += BLOCK)
        out[base + k] = __float2half(row[k] * inv);
}

torch::Tensor masked_softmax(torch::Tensor scores, torch::Tensor mask, double scale) {
    TORCH_CHECK(scores.is_cuda() && mask.is_cuda(), "expected CUDA tensors");
    TORCH_CHECK(scores.scalar_type() == at::kHalf, "expected half scores");
    scores = scores.contiguous();
    mask = mask.contiguous();
    const int K = scores.size(3);
    const int rows_per_batch = scores.size(1) * scores.size(2);
    const int rows = scores.size(0) * rows_per_batch;
    auto out = torch::empty_like(scores);
    auto in_ptr = reinterpret_cast<const __half*>(scores.data_ptr<at::Half>());
    auto out_ptr = reinterpret_cast<__half*>(out.data_ptr<at::Half>());
    const size_t smem = K * sizeof(float);
    if (K <= 128)
        masked_softmax_kernel<64><<<rows, 64, smem>>>(in_ptr, mask.data_ptr<bool>(), out_ptr, (float)scale, rows_per_batch, K);
    else
        masked_softmax_kernel<256><<<rows, 256, smem>>>(in_ptr, mask.data_ptr<bool>(), out_ptr, (float)scale, rows_per_batch, K);
    return out;
}
"""

# hash in the name so that an edited source is rebuilt
_name = "masked_softmax_" + hashlib.md5(SOFTMAX_CUDA.encode()).hexdigest()[:8]
_mod = load_inline(
    name=_name,
    cpp_sources="torch::Tensor masked_softmax(torch::Tensor scores, torch::Tensor mask, double scale);",
    cuda_sources=SOFTMAX_CUDA,
    functions=["masked_softmax"],
)


class ModelNew(nn.Module):
    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return _mod.masked_softmax(scores, mask, self.scale)
