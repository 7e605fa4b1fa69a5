import torch
import torch.nn as nn
import math
from torch.utils.cpp_extension import load_inline

cuda_source = '''
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <float.h>

// one block for one query; its scores live in (dynamic) shared memory
__global__ void causal_attn_kernel(const float* q, const float* k, const float* v, float* out,
                                   int S, int D, float scale) {
    extern __shared__ float sh[];
    float* qs = sh;             // D
    float* sc = sh + D;         // up to S
    float* red = sc + S;        // blockDim.x

    int i = blockIdx.x;
    long base = (long)blockIdx.y * S * D;
    int n = i + 1;              // visible keys
    int tid = threadIdx.x;

    for (int d = tid; d < D; d += blockDim.x) qs[d] = q[base + (long)i * D + d] * scale;
    __syncthreads();

    float mx = -FLT_MAX;
    for (int j = tid; j < n; j += blockDim.x) {
        const float* kr = k + base + (long)j * D;
        float s = 0.f;
        for (int d = 0; d < D; d++) s += qs[d] * kr[d];
        sc[j] = s;
        mx = fmaxf(mx, s);
    }
    red[tid] = mx;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] = fmaxf(red[tid], red[tid + s]);
        __syncthreads();
    }
    mx = red[0];
    __syncthreads();

    float sum = 0.f;
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
    float inv = 1.f / red[0];

    for (int d = tid; d < D; d += blockDim.x) {
        float acc = 0.f;
        for (int j = 0; j < n; j++) acc += sc[j] * v[base + (long)j * D + d];
        out[base + (long)i * D + d] = acc * inv;
    }
}

torch::Tensor causal_attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, double scale) {
    TORCH_CHECK(q.dim() == 4, "expected [B, H, S, D]");
    TORCH_CHECK(q.is_contiguous() && k.is_contiguous() && v.is_contiguous(), "inputs must be contiguous");
    int BH = q.size(0) * q.size(1), S = q.size(2), D = q.size(3);
    auto out = torch::empty_like(q);
    const int threads = 128;
    size_t bytes = (D + S + threads) * sizeof(float);
    if (bytes > 48 * 1024) {
        cudaError_t e = cudaFuncSetAttribute(causal_attn_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
        TORCH_CHECK(e == cudaSuccess, "sequence too long: ", cudaGetErrorString(e));
    }
    dim3 grid(S, BH);
    causal_attn_kernel<<<grid, threads, bytes>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
                                                 out.data_ptr<float>(), S, D, (float)scale);
    return out;
}
'''

causal = load_inline(
    name='causal_attention_smem',
    cpp_sources='torch::Tensor causal_attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, double scale);',
    cuda_sources=cuda_source,
    functions=['causal_attention'],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return causal.causal_attention(q.contiguous(), k.contiguous(), v.contiguous(), 1.0 / math.sqrt(q.size(-1)))
