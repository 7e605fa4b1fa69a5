import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SRC = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

// thread = (batch, channel). Loads of U steps are issued together so that
// the serial recurrence never waits on more than one memory round trip per U.
template <int U>
__global__ void decay_scan_kernel(const float* __restrict__ x, const float* __restrict__ decay,
                                  float* __restrict__ out, int T, int C) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= C) return;
    const float a = 1.f / (1.f + expf(-decay[c]));
    const size_t base = (size_t)blockIdx.y * T * C + c;
    const float* xp = x + base;
    float* op = out + base;

    float h = 0.f;
    float buf[U];
    int t = 0;
    for (; t + U <= T; t += U) {
        #pragma unroll
        for (int u = 0; u < U; ++u) buf[u] = __ldg(xp + (size_t)(t + u) * C);
        #pragma unroll
        for (int u = 0; u < U; ++u) {
            h = fmaf(a, h, buf[u]);
            op[(size_t)(t + u) * C] = h;
        }
    }
    for (; t < T; ++t) {
        h = fmaf(a, h, __ldg(xp + (size_t)t * C));
        op[(size_t)t * C] = h;
    }
}

torch::Tensor decay_scan(torch::Tensor x, torch::Tensor decay) {
    TORCH_CHECK(x.dim() == 3, "x must be (B, T, C)");
    TORCH_CHECK(decay.numel() == x.size(2), "decay has the wrong size");
    auto xc = x.contiguous();
    auto out = torch::empty_like(xc);
    const int B = xc.size(0), T = xc.size(1), C = xc.size(2);
    const int threads = 32;   // small blocks spread the few chains over more SMs
    dim3 grid((C + threads - 1) / threads, B);
    decay_scan_kernel<8><<<grid, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        xc.data_ptr<float>(), decay.data_ptr<float>(), out.data_ptr<float>(), T, C);
    return out;
}
"""


class ModelNew(nn.Module):
    _ext = None

    def __init__(self, channels):
        super().__init__()
        self.decay = nn.Parameter(torch.randn(channels) + 1.0)
        if ModelNew._ext is None:
            ModelNew._ext = load_inline(
                name="g_decay_scan_pref",
                cpp_sources="torch::Tensor decay_scan(torch::Tensor x, torch::Tensor decay);",
                cuda_sources=SRC,
                functions=["decay_scan"],
                extra_cuda_cflags=["-O3"],
            )

    def forward(self, x):
        return ModelNew._ext.decay_scan(x, self.decay)
