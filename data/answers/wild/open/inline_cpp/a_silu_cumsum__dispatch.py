import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <cmath>

torch::Tensor silu_cumsum(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::empty_like(x);
    const auto L = x.size(-1);
    const auto rows = x.numel() / L;
    AT_DISPATCH_FLOATING_TYPES(x.type(), "silu_cumsum", ([&] {
        const scalar_t* xp = x.data_ptr<scalar_t>();
        scalar_t* yp = y.data_ptr<scalar_t>();
        for (int64_t r = 0; r < rows; ++r) {
            double acc = 0.0;
            for (int64_t i = 0; i < L; ++i) {
                const scalar_t v = xp[r * L + i];
                acc += v / (scalar_t(1) + std::exp(-v));
                yp[r * L + i] = static_cast<scalar_t>(acc);
            }
        }
    }));
    return y;
}
"""

silu_cumsum_mod = load_inline(
    name="a_silu_cumsum_dispatch",
    cpp_sources=[cpp_source],
    functions=["silu_cumsum"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x):
        return silu_cumsum_mod.silu_cumsum(x.contiguous())
