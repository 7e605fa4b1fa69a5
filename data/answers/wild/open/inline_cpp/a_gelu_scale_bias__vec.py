import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/vec/vec.h>

using Vec = at::vec::Vectorized<float>;

static inline Vec gelu(Vec x) {
    const Vec k(0.7978845608028654f), c(0.044715f), half(0.5f), one(1.0f);
    Vec inner = k * (x + c * x * x * x);
    return half * x * (one + inner.tanh());
}

torch::Tensor gelu_scale_bias(torch::Tensor x, torch::Tensor scale, torch::Tensor bias) {
    TORCH_CHECK(x.device().is_cpu(), "x must live on the CPU");
    TORCH_CHECK(x.is_contiguous());
    auto y = torch::empty_like(x);
    const int64_t D = x.size(-1);
    const int64_t rows = x.numel() / D;
    const float* xp = x.data_ptr<float>();
    const float* sp = scale.data_ptr<float>();
    const float* bp = bias.data_ptr<float>();
    float* yp = y.data_ptr<float>();

    at::parallel_for(0, rows, 8, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            const float* xr = xp + r * D;
            float* yr = yp + r * D;
            int64_t d = 0;
            for (; d + Vec::size() <= D; d += Vec::size()) {
                Vec v = gelu(Vec::loadu(xr + d)) * Vec::loadu(sp + d) + Vec::loadu(bp + d);
                v.store(yr + d);
            }
            if (d < D) {
                const int64_t rest = D - d;
                Vec v = gelu(Vec::loadu(xr + d, rest)) * Vec::loadu(sp + d, rest) + Vec::loadu(bp + d, rest);
                v.store(yr + d, static_cast<int>(rest));
            }
        }
    });
    return y;
}
"""

gelu_ext = load_inline(
    name="a_gelu_scale_bias_vec",
    cpp_sources=cpp_source,
    functions=["gelu_scale_bias"],
    extra_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(dim) + 0.5)
        self.bias = nn.Parameter(torch.randn(dim) * 0.1)

    def forward(self, x):
        return gelu_ext.gelu_scale_bias(x.contiguous(), self.scale, self.bias)
