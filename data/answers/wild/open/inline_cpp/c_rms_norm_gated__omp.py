import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = r"""
#include <torch/extension.h>
#include <cmath>

torch::Tensor rms_norm_gated(torch::Tensor x, torch::Tensor gate, torch::Tensor weight, double eps) {
    TORCH_CHECK(!x.is_cuda(), "CPU tensor expected");
    TORCH_CHECK_EQ(x.numel(), gate.numel());
    x = x.contiguous();
    gate = gate.contiguous();
    const int64_t d = x.size(-1);
    const int64_t rows = x.numel() / d;
    auto out = torch::empty_like(x);
    const float* xp = x.data_ptr<float>();
    const float* gp = gate.data_ptr<float>();
    const float* wp = weight.data_ptr<float>();
    float* op = out.data_ptr<float>();

    #pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; ++r) {
        const float* xr = xp + r * d;
        const float* gr = gp + r * d;
        float* o = op + r * d;
        float ss = 0.0f;
        #pragma omp simd reduction(+:ss)
        for (int64_t i = 0; i < d; ++i) ss += xr[i] * xr[i];
        const float inv = 1.0f / std::sqrt(ss / (float)d + (float)eps);
        for (int64_t i = 0; i < d; ++i) {
            const float g = gr[i];
            o[i] = xr[i] * inv * wp[i] * (g / (1.0f + std::exp(-g)));
        }
    }
    return out;
}
"""

rms_cpp = load_inline(
    name="rms_norm_gated_omp",
    cpp_sources=cpp_source,
    functions=["rms_norm_gated"],
    extra_cflags=["-O3", "-march=native", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x, gate):
        return rms_cpp.rms_norm_gated(x, gate, self.weight, self.eps)
