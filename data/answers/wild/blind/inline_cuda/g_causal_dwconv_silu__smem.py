import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

constexpr int NT = 128;
constexpr int PER = 4;
constexpr int TILE = NT * PER;

template <int KS>   // KS == 0: run-time kernel size
__global__ void dwconv_silu(const float* __restrict__ x, const float* __restrict__ w,
                            const float* __restrict__ bias, float* __restrict__ y,
                            int C, int T, int k_rt) {
    extern __shared__ float sm[];           // TILE + K - 1 samples, then K taps
    const int K = KS > 0 ? KS : k_rt;
    float* taps = sm + TILE + K - 1;
    const int bc = blockIdx.x;
    const int c = bc % C;
    const int t0 = blockIdx.y * TILE;
    const float* xr = x + (size_t)bc * T;

    for (int i = threadIdx.x; i < TILE + K - 1; i += NT) {
        const int t = t0 + i - (K - 1);
        sm[i] = (t >= 0 && t < T) ? xr[t] : 0.f;
    }
    for (int i = threadIdx.x; i < K; i += NT) taps[i] = w[c * K + i];
    __syncthreads();

    const float bv = bias[c];
    #pragma unroll
    for (int p = 0; p < PER; ++p) {
        const int l = threadIdx.x + p * NT;   // strided: conflict-free and coalesced
        float acc = bv;
        #pragma unroll
        for (int k = 0; k < K; ++k) acc = fmaf(sm[l + k], taps[k], acc);
        if (t0 + l < T) y[(size_t)bc * T + t0 + l] = acc / (1.f + __expf(-acc));
    }
}

torch::Tensor causal_dwconv(torch::Tensor x, torch::Tensor w, torch::Tensor bias) {
    TORCH_CHECK(x.dim() == 3 && w.dim() == 3 && w.size(0) == x.size(1));
    x = x.contiguous();
    w = w.contiguous();
    auto y = torch::empty_like(x);
    const int B = x.size(0), C = x.size(1), T = x.size(2), K = w.size(2);
    dim3 grid(B * C, (T + TILE - 1) / TILE);
    const size_t sh = (TILE + 2 * K - 1) * sizeof(float);
#define GO(KK) dwconv_silu<KK><<<grid, NT, sh>>>(x.data_ptr<float>(), w.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), C, T, K)
    switch (K) {
        case 2: GO(2); break;
        case 3: GO(3); break;
        case 4: GO(4); break;
        case 5: GO(5); break;
        case 7: GO(7); break;
        default: GO(0);
    }
#undef GO
    return y;
}
"""

_m = load_inline(
    name="g_causal_dwconv_smem",
    cpp_sources="torch::Tensor causal_dwconv(torch::Tensor x, torch::Tensor w, torch::Tensor bias);",
    cuda_sources=src,
    functions=["causal_dwconv"],
    extra_cuda_cflags=["-O3", "--use_fast_math", "-lineinfo"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, kernel_size):
        super().__init__()
        self.kernel_size = kernel_size
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels, padding=kernel_size - 1)

    def forward(self, x):
        return _m.causal_dwconv(x, self.conv.weight, self.conv.bias)
