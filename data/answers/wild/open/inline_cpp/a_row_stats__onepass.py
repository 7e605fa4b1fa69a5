import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

row_stats_source = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <vector>

template <typename scalar_t>
void row_stats_impl(const scalar_t* x, scalar_t* mean, scalar_t* var, scalar_t* peak, int64_t rows, int64_t cols) {
    at::parallel_for(0, rows, 4, [&](int64_t r0, int64_t r1) {
        for (int64_t r = r0; r < r1; ++r) {
            const scalar_t* p = x + r * cols;
            // Welford
            double mu = 0.0, m2 = 0.0;
            scalar_t mx = p[0];
            for (int64_t i = 0; i < cols; ++i) {
                const double v = p[i];
                const double delta = v - mu;
                mu += delta / (double)(i + 1);
                m2 += delta * (v - mu);
                if (p[i] > mx) mx = p[i];
            }
            mean[r] = (scalar_t)mu;
            var[r] = (scalar_t)(m2 / (double)(cols - 1));
            peak[r] = mx;
        }
    });
}

std::vector<torch::Tensor> row_stats(torch::Tensor x) {
    x = x.contiguous();
    auto shape = x.sizes().vec();
    const int64_t cols = shape.back();
    shape.pop_back();
    auto mean = torch::empty(shape, x.options());
    auto var = torch::empty(shape, x.options());
    auto peak = torch::empty(shape, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "row_stats", [&] {
        row_stats_impl<scalar_t>(x.data_ptr<scalar_t>(), mean.data_ptr<scalar_t>(), var.data_ptr<scalar_t>(),
                                 peak.data_ptr<scalar_t>(), x.numel() / cols, cols);
    });
    return {mean, var, peak};
}
"""

row_stats_ext = load_inline(
    name="a_row_stats_onepass",
    cpp_sources=row_stats_source,
    functions=["row_stats"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return tuple(row_stats_ext.row_stats(x))


if __name__ == "__main__":
    x = torch.randn(4, 9)
    print(ModelNew()(x))
