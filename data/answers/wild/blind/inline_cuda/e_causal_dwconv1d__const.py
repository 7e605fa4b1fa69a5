import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>

#define MAX_CONST 8192
__constant__ float c_weight[MAX_CONST];

// kConst: the filters lie in constant memory (they are the same address for a whole block)
template <bool kConst>
__global__ void dwconv_causal_silu(const float* __restrict__ x, const float* __restrict__ w,
                                   const float* __restrict__ bias, float* __restrict__ y,
                                   int C, int L, int K) {
    extern __shared__ float tile[];              // blockDim.x + K - 1
    const int row = blockIdx.x;
    const int c = row % C;
    const int t0 = blockIdx.y * blockDim.x;
    const float* xr = x + (size_t)row * L;

    for (int i = threadIdx.x; i < blockDim.x + K - 1; i += blockDim.x) {
        const int src = t0 + i - (K - 1);
        tile[i] = (src >= 0 && src < L) ? xr[src] : 0.f;
    }
    __syncthreads();

    const int t = t0 + threadIdx.x;
    if (t >= L) return;
    float acc = bias[c];
    for (int k = 0; k < K; ++k) {
        const float wk = kConst ? c_weight[c * K + k] : w[c * K + k];
        acc += wk * tile[threadIdx.x + k];
    }
    y[(size_t)row * L + t] = acc / (1.f + expf(-acc));
}

torch::Tensor dwconv_silu(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 3, "x must be a CUDA tensor (B, C, L)");
    x = x.contiguous();
    w = w.contiguous();
    const int B = x.size(0), C = x.size(1), L = x.size(2), K = w.size(2);
    auto y = torch::empty_like(x);
    const int threads = 128;
    dim3 grid(B * C, (L + threads - 1) / threads);
    const size_t smem = (threads + K - 1) * sizeof(float);
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    if (w.numel() <= MAX_CONST) {
        cudaMemcpyToSymbolAsync(c_weight, w.data_ptr<float>(), w.numel() * sizeof(float), 0,
                                cudaMemcpyDeviceToDevice, stream);
        dwconv_causal_silu<true><<<grid, threads, smem, stream>>>(
            x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), C, L, K);
    } else {
        dwconv_causal_silu<false><<<grid, threads, smem, stream>>>(
            x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), C, L, K);
    }
    return y;
}
"""

dw = load_inline(
    name="e_dwconv_const",
    cpp_sources="torch::Tensor dwconv_silu(torch::Tensor x, torch::Tensor w, torch::Tensor bias);",
    cuda_sources=source,
    functions=["dwconv_silu"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, kernel_size):
        super().__init__()
        self.kernel_size = kernel_size
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels, padding=kernel_size - 1)

    def forward(self, x):
        return dw.dwconv_silu(x, self.conv.weight, self.conv.bias)
