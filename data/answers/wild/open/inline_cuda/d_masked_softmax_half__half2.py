import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline


def _supports_half():
    if not torch.cuda.is_available():
        return True
    major, minor = torch.cuda.get_device_capability()
    return major >= 6


src = r'''
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <math_constants.h>

// one warp for each row; pairs of keys as half2 when the row length is even
__global__ void softmax_warp_half2(const half2* __restrict__ s, const bool* __restrict__ mask,
                                   half2* __restrict__ o, float scale, int rows, int rows_per_batch, int K2) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (warp >= rows) return;
    s += (size_t)warp * K2;
    o += (size_t)warp * K2;
    const bool* m = mask + (size_t)(warp / rows_per_batch) * K2 * 2;

    float mx = -CUDART_INF_F, sum = 0.f;
    for (int i = lane; i < K2; i += 32) {
        float2 v = __half22float2(s[i]);
        float a = m[2 * i] ? v.x * scale : -65504.f;
        float b = m[2 * i + 1] ? v.y * scale : -65504.f;
        mx = fmaxf(mx, fmaxf(a, b));
    }
    for (int d = 16; d; d >>= 1) mx = fmaxf(mx, __shfl_xor_sync(0xffffffff, mx, d));
    for (int i = lane; i < K2; i += 32) {
        float2 v = __half22float2(s[i]);
        float a = m[2 * i] ? v.x * scale : -65504.f;
        float b = m[2 * i + 1] ? v.y * scale : -65504.f;
        sum += expf(a - mx) + expf(b - mx);
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
    float inv = 1.f / sum;
    for (int i = lane; i < K2; i += 32) {
        float2 v = __half22float2(s[i]);
        float a = m[2 * i] ? v.x * scale : -65504.f;
        float b = m[2 * i + 1] ? v.y * scale : -65504.f;
        o[i] = __floats2half2_rn(expf(a - mx) * inv, expf(b - mx) * inv);
    }
}

__global__ void softmax_warp_half(const half* __restrict__ s, const bool* __restrict__ mask,
                                  half* __restrict__ o, float scale, int rows, int rows_per_batch, int K) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (warp >= rows) return;
    s += (size_t)warp * K;
    o += (size_t)warp * K;
    const bool* m = mask + (size_t)(warp / rows_per_batch) * K;
    float mx = -CUDART_INF_F, sum = 0.f;
    for (int i = lane; i < K; i += 32)
        mx = fmaxf(mx, m[i] ? __half2float(s[i]) * scale : -65504.f);
    for (int d = 16; d; d >>= 1) mx = fmaxf(mx, __shfl_xor_sync(0xffffffff, mx, d));
    for (int i = lane; i < K; i += 32)
        sum += expf((m[i] ? __half2float(s[i]) * scale : -65504.f) - mx);
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, d);
    for (int i = lane; i < K; i += 32)
        o[i] = __float2half_rn(expf((m[i] ? __half2float(s[i]) * scale : -65504.f) - mx) / sum);
}

torch::Tensor masked_softmax_half(torch::Tensor scores, torch::Tensor mask, float scale) {
    TORCH_CHECK(scores.is_contiguous());
    TORCH_CHECK(mask.is_contiguous());
    auto out = torch::empty_like(scores);
    int K = scores.size(-1);
    int rows = scores.numel() / K;
    int per_batch = rows / mask.size(0);
    int grid = (rows + 7) / 8;
    const at::Half* sp = scores.data_ptr<at::Half>();
    at::Half* op = out.data_ptr<at::Half>();
    if (K % 2 == 0) {
        softmax_warp_half2<<<grid, 256>>>(reinterpret_cast<const half2*>(sp), mask.data_ptr<bool>(),
                                          reinterpret_cast<half2*>(op), scale, rows, per_batch, K / 2);
    } else {
        softmax_warp_half<<<grid, 256>>>(reinterpret_cast<const half*>(sp), mask.data_ptr<bool>(),
                                         reinterpret_cast<half*>(op), scale, rows, per_batch, K);
    }
    return out;
}
'''

ext = load_inline('masked_softmax_half2',
                  cpp_sources='torch::Tensor masked_softmax_half(torch::Tensor scores, torch::Tensor mask, float scale);',
                  cuda_sources=src, functions=['masked_softmax_half'])


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        assert _supports_half(), f"half precision kernels need sm_60, got {torch.cuda.get_device_capability()}"
        self.scale = scale

    def forward(self, scores, mask):
        return ext.masked_softmax_half(scores.contiguous(), mask.contiguous(), self.scale)
