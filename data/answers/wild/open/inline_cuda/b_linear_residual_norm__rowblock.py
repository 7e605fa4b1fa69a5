import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_src = "torch::Tensor linear_relu_add_norm(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor gamma, torch::Tensor beta, double eps);"

cuda_src = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

template <int THREADS>
__device__ float block_sum(float v) {
    static __shared__ float warp_part[THREADS / 32];
    const int lane = threadIdx.x & 31;
    const int wid = threadIdx.x >> 5;
    for (int off = 16; off > 0; off >>= 1) v += __shfl_down_sync(0xffffffff, v, off);
    __syncthreads();              // the buffer may still be in use from the last call
    if (lane == 0) warp_part[wid] = v;
    __syncthreads();
    float total = 0.f;
    #pragma unroll
    for (int i = 0; i < THREADS / 32; ++i) total += warp_part[i];
    return total;
}

template <int THREADS>
__global__ void fused_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                             const float* __restrict__ gamma, const float* __restrict__ beta,
                             float* __restrict__ out, int D, float eps) {
    extern __shared__ float smem[];
    float* xs = smem;
    float* ys = smem + D;
    const size_t row = blockIdx.x;
    for (int i = threadIdx.x; i < D; i += THREADS) xs[i] = x[row * D + i];
    __syncthreads();

    float s = 0.f;
    for (int n = threadIdx.x; n < D; n += THREADS) {
        float acc = b[n];
        const float* wr = w + (size_t)n * D;
        for (int k = 0; k < D; ++k) acc += xs[k] * wr[k];
        float y = xs[n] + fmaxf(acc, 0.f);
        ys[n] = y;
        s += y;
    }
    const float mean = block_sum<THREADS>(s) / D;

    float q = 0.f;
    for (int n = threadIdx.x; n < D; n += THREADS) {
        float d = ys[n] - mean;   // same thread wrote ys[n]
        q += d * d;
    }
    const float rstd = rsqrtf(block_sum<THREADS>(q) / D + eps);
    for (int n = threadIdx.x; n < D; n += THREADS)
        out[row * D + n] = (ys[n] - mean) * rstd * gamma[n] + beta[n];
}

torch::Tensor linear_relu_add_norm(torch::Tensor x, torch::Tensor w, torch::Tensor b,
                                   torch::Tensor gamma, torch::Tensor beta, double eps) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    const int M = x.size(0), D = x.size(1);
    auto out = torch::empty_like(x);
    constexpr int THREADS = 128;
    size_t smem = 2 * D * sizeof(float);
    fused_kernel<THREADS><<<M, THREADS, smem, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), gamma.data_ptr<float>(),
        beta.data_ptr<float>(), out.data_ptr<float>(), D, (float)eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

ext = load_inline(name="linear_residual_norm_ext", cpp_sources=cpp_src, cuda_sources=cuda_src,
                  functions=["linear_relu_add_norm"], extra_cuda_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x):
        return ext.linear_relu_add_norm(x.contiguous(), self.fc.weight, self.fc.bias,
                                        self.norm.weight, self.norm.bias, self.norm.eps)
