import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp = """
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>

// returns one tensor in a vector, to keep the calling convention of our other ops
std::vector<torch::Tensor> gn_swish(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t G, double eps) {
    torch::NoGradGuard no_grad;
    TORCH_CHECK(x.dim() >= 3, "expected (N, C, *)");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    const int64_t N = x.size(0);
    const int64_t C = x.size(1);
    const int64_t HW = x.numel() / (N * C);
    const int64_t cpg = C / G;
    const int64_t len = cpg * HW;
    auto y = torch::empty_like(x);

    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "gn_swish", [&] {
        const scalar_t* xp = x.data_ptr<scalar_t>();
        const scalar_t* w = weight.data_ptr<scalar_t>();
        const scalar_t* b = bias.data_ptr<scalar_t>();
        scalar_t* yp = y.data_ptr<scalar_t>();
        at::parallel_for(0, N * G, 1, [&](int64_t lo, int64_t hi) {
            for (int64_t ng = lo; ng < hi; ++ng) {
                const scalar_t* src = xp + ng * len;
                scalar_t* dst = yp + ng * len;
                double sum = 0.0, sq = 0.0;
                for (int64_t i = 0; i < len; ++i) {
                    const double v = src[i];
                    sum += v;
                    sq += v * v;
                }
                const double mean = sum / len;
                double var = sq / len - mean * mean;
                if (var < 0.0) var = 0.0;
                const double rstd = 1.0 / std::sqrt(var + eps);
                for (int64_t c = 0; c < cpg; ++c) {
                    const int64_t ch = (ng % G) * cpg + c;
                    const scalar_t scale = static_cast<scalar_t>(rstd * w[ch]);
                    const scalar_t shift = static_cast<scalar_t>(b[ch] - mean * rstd * w[ch]);
                    for (int64_t i = c * HW; i < (c + 1) * HW; ++i) {
                        const scalar_t v = src[i] * scale + shift;
                        dst[i] = v / (scalar_t(1) + std::exp(-v));
                    }
                }
            }
        });
    });
    return {y};
}
"""

gn_ext = load_inline(
    name="gn_swish_cpu",
    cpp_sources=cpp,
    functions=["gn_swish"],
    extra_cflags=["-O3", "-fopenmp"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels)
        nn.init.uniform_(self.gn.weight, 0.5, 1.5)
        nn.init.uniform_(self.gn.bias, -0.3, 0.3)

    def forward(self, input):
        (out,) = gn_ext.gn_swish(input.contiguous(), self.gn.weight, self.gn.bias, self.gn.num_groups, self.gn.eps)
        return out
