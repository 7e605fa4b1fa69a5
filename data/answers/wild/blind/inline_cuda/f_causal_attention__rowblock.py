import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

attn_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

// One block per (batch*head, query row). Scores of the row live in shared memory.
__global__ void causal_attn_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                   const float* __restrict__ v, float* __restrict__ out,
                                   int S, int D, float scale) {
    extern __shared__ float shm[];
    float* sq = shm;          // D
    float* sc = shm + D;      // S
    float* red = shm + D + S; // blockDim.x

    int row = blockIdx.x;
    int bh = blockIdx.y;
    int tid = threadIdx.x;
    int n = row + 1;          // number of visible keys

    const float* qp = q + ((size_t)bh * S + row) * D;
    const float* kp = k + (size_t)bh * S * D;
    const float* vp = v + (size_t)bh * S * D;

    for (int d = tid; d < D; d += blockDim.x) sq[d] = qp[d] * scale;
    __syncthreads();

    float mx = -INFINITY;
    for (int j = tid; j < n; j += blockDim.x) {
        float dot = 0.0f;
        for (int d = 0; d < D; ++d) dot += sq[d] * kp[(size_t)j * D + d];
        sc[j] = dot;
        mx = fmaxf(mx, dot);
    }
    red[tid] = mx;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] = fmaxf(red[tid], red[tid + s]);
        __syncthreads();
    }
    mx = red[0];
    __syncthreads();

    float sum = 0.0f;
    for (int j = tid; j < n; j += blockDim.x) {
        float e = expf(sc[j] - mx);
        sc[j] = e;
        sum += e;
    }
    red[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] += red[tid + s];
        __syncthreads();
    }
    float inv = 1.0f / red[0];

    for (int d = tid; d < D; d += blockDim.x) {
        float acc = 0.0f;
        for (int j = 0; j < n; ++j) acc += sc[j] * vp[(size_t)j * D + d];
        out[((size_t)bh * S + row) * D + d] = acc * inv;
    }
}

torch::Tensor causal_attention(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    int B = q.size(0), H = q.size(1), S = q.size(2), D = q.size(3);
    auto out = torch::empty_like(q);
    const int threads = 64;
    dim3 grid(S, B * H);
    size_t shared = (D + S + threads) * sizeof(float);
    TORCH_CHECK(shared <= 48 * 1024, "sequence too long for this kernel");
    causal_attn_kernel<<<grid, threads, shared>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
                                                  out.data_ptr<float>(), S, D, 1.0f / sqrtf((float)D));
    return out;
}
"""

attn_cpp = "torch::Tensor causal_attention(torch::Tensor q, torch::Tensor k, torch::Tensor v);"

attn = load_inline(name="causal_attn", cpp_sources=attn_cpp, cuda_sources=attn_source,
                   functions=["causal_attention"], verbose=True, extra_cuda_cflags=["-O2"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return attn.causal_attention(q.contiguous(), k.contiguous(), v.contiguous())
