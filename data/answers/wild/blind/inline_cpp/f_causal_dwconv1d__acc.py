import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = """
#include <cmath>
#include <algorithm>

at::Tensor dwconv_silu(at::Tensor x, at::Tensor w, at::Tensor bias) {
    auto out = at::empty(x.sizes(), x.options());
    auto xa = x.accessor<float, 3>();
    auto wa = w.accessor<float, 3>();
    auto ba = bias.accessor<float, 1>();
    auto oa = out.accessor<float, 3>();
    const int64_t B = x.size(0), C = x.size(1), L = x.size(2), K = w.size(2);

    #pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < B; b++) {
        for (int64_t c = 0; c < C; c++) {
            for (int64_t t = 0; t < L; t++) {
                float acc = ba[c];
                // only taps with t - (K-1) + k >= 0
                int64_t k0 = std::max<int64_t>(0, K - 1 - t);
                for (int64_t k = k0; k < K; k++)
                    acc += wa[c][0][k] * xa[b][c][t - (K - 1) + k];
                oa[b][c][t] = acc / (1.0f + std::exp(-acc));
            }
        }
    }
    return out;
}
"""
mod = load_inline(name="dwconv_silu_cpu", cpp_sources=src, functions="dwconv_silu", extra_cflags=["-O2", "-fopenmp"])


class ModelNew(nn.Module):
    def __init__(self, channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels, padding=kernel_size - 1)

    def forward(self, x):
        with torch.no_grad():
            return mod.dwconv_silu(x, self.conv.weight, self.conv.bias)
