import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

# Walk over the rows in order (the memory order), with a vector of partial results for all columns.
stats_source = """
#include <torch/extension.h>
#include <limits>
#include <vector>

std::vector<torch::Tensor> column_stats(torch::Tensor x) {
    TORCH_CHECK(x.dim() == 2, "expected a matrix");
    x = x.contiguous();
    const int64_t R = x.size(0);
    const int64_t C = x.size(1);
    const float* p = x.data_ptr<float>();

    std::vector<double> sum(C, 0.0), sq(C, 0.0);
    std::vector<float> mx(C, -std::numeric_limits<float>::infinity());
    for (int64_t r = 0; r < R; ++r) {
        const float* row = p + r * C;
        for (int64_t c = 0; c < C; ++c) {
            sum[c] += row[c];
            if (row[c] > mx[c]) mx[c] = row[c];
        }
    }
    for (int64_t c = 0; c < C; ++c) sum[c] /= static_cast<double>(R);   // now the mean
    for (int64_t r = 0; r < R; ++r) {
        const float* row = p + r * C;
        for (int64_t c = 0; c < C; ++c) {
            const double d = row[c] - sum[c];
            sq[c] += d * d;
        }
    }

    auto mean = torch::empty({C}, x.options());
    auto var = torch::empty({C}, x.options());
    auto max = torch::empty({C}, x.options());
    float* a = mean.data_ptr<float>();
    float* b = var.data_ptr<float>();
    float* m = max.data_ptr<float>();
    for (int64_t c = 0; c < C; ++c) {
        a[c] = static_cast<float>(sum[c]);
        b[c] = static_cast<float>(sq[c] / static_cast<double>(R - 1));
        m[c] = mx[c];
    }
    return {mean, var, max};
}
"""

column_stats = load_inline(
    name="column_stats_rows",
    cpp_sources=stats_source,
    functions=["column_stats"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()
        self.column_stats = column_stats

    def forward(self, x):
        return tuple(self.column_stats.column_stats(x))
