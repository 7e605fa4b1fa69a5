import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

logsumexp_cpp = """
#include <torch/extension.h>
#include <cmath>

torch::Tensor logsumexp_last(torch::Tensor x) {
    int64_t C = x.size(-1);
    int64_t rows = x.numel() / C;
    auto out = torch::zeros({x.size(0), x.size(1)}, x.options());
    float* in = x.data_ptr<float>();
    float* o = out.data_ptr<float>();
    #pragma omp parallel for
    for (int64_t r = 0; r < rows; r++) {
        float* p = in + r * C;
        float m = p[0];
        for (int64_t i = 1; i < C; i++) {
            if (p[i] > m) m = p[i];
        }
        float s = 0;
        for (int64_t i = 0; i < C; i++) s += expf(p[i] - m);
        o[r] = m + logf(s);
    }
    return out;
}
"""

lse_module = load_inline(
    name="a_logsumexp_mid_perm",
    cpp_sources=logsumexp_cpp,
    functions=["logsumexp_last"],
    extra_cflags=["-O3", "-fopenmp", "-march=native"],
    extra_ldflags=["-lgomp"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        # bring the reduced dim last so that rows are contiguous
        xt = x.permute(0, 2, 1).contiguous()
        return lse_module.logsumexp_last(xt)
