import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_src = """
#include <torch/extension.h>
#include <cmath>

torch::Tensor smooth_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets, double smoothing) {
    TORCH_CHECK(logits.dim() == 2, "logits must be 2D");
    TORCH_CHECK(targets.scalar_type() == torch::kLong, "targets must be int64");
    const auto lg = logits.contiguous();
    const auto tg = targets.contiguous();
    const int64_t n = lg.size(0);
    const int64_t c = lg.size(1);
    const float* x = lg.data_ptr<float>();
    const int64_t* t = tg.data_ptr<int64_t>();

    double total = 0.0;
    #pragma omp parallel for reduction(+:total)
    for (int64_t i = 0; i < n; ++i) {
        const float* row = x + i * c;
        float mx = row[0];
        double sum_x = 0.0;
        for (int64_t j = 0; j < c; ++j) {
            if (row[j] > mx) mx = row[j];
            sum_x += row[j];
        }
        double sum_e = 0.0;
        for (int64_t j = 0; j < c; ++j) sum_e += std::exp(row[j] - mx);
        const double lse = mx + std::log(sum_e);
        total += (1.0 - smoothing) * (lse - row[t[i]]) + smoothing * (lse - sum_x / c);
    }
    return torch::tensor(static_cast<float>(total / n), lg.options());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("smooth_cross_entropy", &smooth_cross_entropy, "label smoothed cross entropy (CPU)");
}
"""

ce = load_inline(name="smooth_cross_entropy_cpu", cpp_sources=cpp_src, extra_cflags=["-O3", "-fopenmp"], extra_ldflags=["-lgomp"])


class ModelNew(nn.Module):
    def __init__(self, smoothing):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits, targets):
        return ce.smooth_cross_entropy(logits, targets, self.smoothing)
