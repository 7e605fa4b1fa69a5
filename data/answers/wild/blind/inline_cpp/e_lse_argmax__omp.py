import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = r"""
#include <torch/extension.h>
#include <cmath>
#include <limits>
#include <vector>

std::vector<torch::Tensor> lse_argmax_cpu(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cpu(), "x must be a CPU tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    x = x.contiguous();
    const int64_t cols = x.size(-1);
    const int64_t rows = x.numel() / cols;
    auto out_sizes = x.sizes().vec();
    out_sizes.pop_back();
    auto lse = torch::empty(out_sizes, x.options());
    auto idx = torch::empty(out_sizes, x.options().dtype(torch::kLong));

    const float* xp = x.data_ptr<float>();
    float* lp = lse.data_ptr<float>();
    int64_t* ip = idx.data_ptr<int64_t>();

    #pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; ++r) {
        const float* row = xp + r * cols;
        float mx = -std::numeric_limits<float>::infinity();
        int64_t best = 0;
        for (int64_t c = 0; c < cols; ++c) {
            if (row[c] > mx) {
                mx = row[c];
                best = c;
            }
        }
        float s = 0.0f;
        for (int64_t c = 0; c < cols; ++c) s += std::exp(row[c] - mx);
        lp[r] = mx + std::log(s);
        ip[r] = best;
    }
    return {lse, idx};
}
"""

lse_mod = load_inline(
    name="e_lse_argmax_cpu",
    cpp_sources=cpp_source,
    functions=["lse_argmax_cpu"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        lse, idx = lse_mod.lse_argmax_cpu(x)
        return lse, idx
