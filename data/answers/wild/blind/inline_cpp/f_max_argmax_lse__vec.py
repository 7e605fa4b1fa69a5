import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp = r'''
#include <torch/extension.h>
#include <vector>
#include <cmath>

std::vector<torch::Tensor> max_argmax_lse(torch::Tensor x_in) {
    const auto x = x_in.contiguous();
    const auto B = x.size(0), N = x.size(1), D = x.size(2);
    auto values = torch::empty({B, D}, x.options());
    auto indices = torch::zeros({B, D}, x.options().dtype(torch::kInt64));
    auto lse = torch::zeros({B, D}, x.options());

    for (int64_t b = 0; b < B; ++b) {
        const float* xb = x.data_ptr<float>() + b * N * D;
        float* val = values.data_ptr<float>() + b * D;
        int64_t* idx = indices.data_ptr<int64_t>() + b * D;
        float* ls = lse.data_ptr<float>() + b * D;

        for (int64_t d = 0; d < D; ++d) val[d] = xb[d];
        for (int64_t n = 1; n < N; ++n)
            for (int64_t d = 0; d < D; ++d)
                if (xb[n * D + d] > val[d]) { val[d] = xb[n * D + d]; idx[d] = n; }
        for (int64_t n = 0; n < N; ++n)
            for (int64_t d = 0; d < D; ++d)
                ls[d] += std::exp(xb[n * D + d] - val[d]);
        for (int64_t d = 0; d < D; ++d) ls[d] = std::log(ls[d]) + val[d];
    }
    return {values, indices, lse};
}
'''

stats = load_inline(name='max_argmax_lse_cpu', cpp_sources=[cpp], functions=['max_argmax_lse'], verbose=True)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x):
        return tuple(stats.max_argmax_lse(x))
