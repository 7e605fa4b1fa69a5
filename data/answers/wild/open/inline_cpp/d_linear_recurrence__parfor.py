import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>

torch::Tensor gated_recurrence(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.sizes() == b.sizes(), "a and b must have the same shape");
    a = a.contiguous();
    b = b.contiguous();
    const int64_t B = a.size(0), T = a.size(1), D = a.size(2);
    auto out = torch::empty_like(b);
    const float* ap = a.data_ptr<float>();
    const float* bp = b.data_ptr<float>();
    float* op = out.data_ptr<float>();

    at::parallel_for(0, B, 1, [&](int64_t begin, int64_t end) {
        std::vector<float> h(D);
        for (int64_t n = begin; n < end; ++n) {
            std::fill(h.begin(), h.end(), 0.0f);
            for (int64_t t = 0; t < T; ++t) {
                const int64_t off = (n * T + t) * D;
                for (int64_t d = 0; d < D; ++d) {
                    const float g = 1.0f / (1.0f + std::exp(-ap[off + d]));
                    h[d] = g * h[d] + (1.0f - g) * bp[off + d];
                    op[off + d] = h[d];
                }
            }
        }
    });
    return out;
}
"""

ext = load_inline(
    name="gated_recurrence_cpu",
    cpp_sources=cpp_source,
    functions=["gated_recurrence"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return ext.gated_recurrence(a, b)
