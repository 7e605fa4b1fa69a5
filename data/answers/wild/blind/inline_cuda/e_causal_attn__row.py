import math
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

attn_src = r'''
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cmath>

// Block = one query. Scores of the row stay in shared memory, never in global memory.
__global__ void causal_attn_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                   const float* __restrict__ v, float* __restrict__ o,
                                   int T, int D, float scale)
{
    extern __shared__ float smem[];
    float* sc = smem;          // T
    float* qs = smem + T;      // D
    __shared__ float red[32];

    const int t = blockIdx.x;
    const size_t head = (size_t)blockIdx.y * T * D;
    const int tid = threadIdx.x;
    const int lane = tid & 31, warp = tid >> 5, nwarps = blockDim.x >> 5;
    const int n_keys = t + 1;

    for (int d = tid; d < D; d += blockDim.x) qs[d] = q[head + (size_t)t * D + d] * scale;
    __syncthreads();

    // scores: a warp for each key
    for (int j = warp; j < n_keys; j += nwarps) {
        const float* kj = k + head + (size_t)j * D;
        float dot = 0.f;
        for (int d = lane; d < D; d += 32) dot += qs[d] * kj[d];
        for (int s = 16; s > 0; s >>= 1) dot += __shfl_down_sync(0xffffffffu, dot, s);
        if (lane == 0) sc[j] = dot;
    }
    __syncthreads();

    // max
    float mx = -INFINITY;
    for (int j = tid; j < n_keys; j += blockDim.x) mx = fmaxf(mx, sc[j]);
    for (int s = 16; s > 0; s >>= 1) mx = fmaxf(mx, __shfl_xor_sync(0xffffffffu, mx, s));
    if (lane == 0) red[warp] = mx;
    __syncthreads();
    mx = red[0];
    for (int w = 1; w < nwarps; ++w) mx = fmaxf(mx, red[w]);
    __syncthreads();

    // exp and sum
    float sum = 0.f;
    for (int j = tid; j < n_keys; j += blockDim.x) {
        const float e = expf(sc[j] - mx);
        sc[j] = e;
        sum += e;
    }
    for (int s = 16; s > 0; s >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, s);
    if (lane == 0) red[warp] = sum;
    __syncthreads();
    sum = 0.f;
    for (int w = 0; w < nwarps; ++w) sum += red[w];
    const float inv = 1.f / sum;

    // output: threads over d
    for (int d = tid; d < D; d += blockDim.x) {
        float acc = 0.f;
        for (int j = 0; j < n_keys; ++j) acc += sc[j] * v[head + (size_t)j * D + d];
        o[head + (size_t)t * D + d] = acc * inv;
    }
}

torch::Tensor causal_attn(torch::Tensor q, torch::Tensor k, torch::Tensor v)
{
    TORCH_CHECK(q.is_cuda() && k.is_cuda() && v.is_cuda(), "CUDA tensors expected");
    TORCH_CHECK(q.dim() == 4 && q.sizes() == k.sizes() && q.sizes() == v.sizes(), "q, k, v must have one shape");
    q = q.contiguous(); k = k.contiguous(); v = v.contiguous();
    const int BH = q.size(0) * q.size(1), T = q.size(2), D = q.size(3);
    const size_t smem = (T + D) * sizeof(float);
    TORCH_CHECK(smem <= 48 * 1024 - 256, "sequence too long for this kernel");
    auto o = torch::empty_like(q);
    causal_attn_kernel<<<dim3(T, BH), 128, smem>>>(
        q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), o.data_ptr<float>(),
        T, D, 1.0f / std::sqrt((float)D));
    return o;
}
'''

attn = load_inline(
    name='e_causal_attn_row',
    cpp_sources='torch::Tensor causal_attn(torch::Tensor q, torch::Tensor k, torch::Tensor v);',
    cuda_sources=attn_src,
    functions=['causal_attn'],
    extra_cuda_cflags=['-O3'],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return attn.causal_attn(q, k, v)
