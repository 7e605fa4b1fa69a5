import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cmath>
#include <vector>

torch::Tensor cumulative_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    TORCH_CHECK(x.dim() == 3, "expected (batch, channels, time)");
    auto xc = x.contiguous();
    auto y = torch::empty_like(xc);
    const int64_t B = xc.size(0), C = xc.size(1), T = xc.size(2);
    const float* px = xc.data_ptr<float>();
    const float* pg = gamma.data_ptr<float>();
    const float* pb = beta.data_ptr<float>();
    float* py = y.data_ptr<float>();

#pragma omp parallel for
    for (int64_t b = 0; b < B; ++b) {
        std::vector<double> sum(T, 0.0), sq(T, 0.0);
        const float* xb = px + b * C * T;
        for (int64_t c = 0; c < C; ++c) {
            for (int64_t t = 0; t < T; ++t) {
                const double v = xb[c * T + t];
                sum[t] += v;
                sq[t] += v * v;
            }
        }
        // running statistics; afterwards sum[] holds the mean and sq[] the inverse std
        double s = 0.0, q = 0.0;
        for (int64_t t = 0; t < T; ++t) {
            s += sum[t];
            q += sq[t];
            const double n = static_cast<double>(C) * (t + 1);
            const double mean = s / n;
            const double var = std::max(q / n - mean * mean, 0.0);
            sum[t] = mean;
            sq[t] = 1.0 / std::sqrt(var + eps);
        }
        for (int64_t c = 0; c < C; ++c)
            for (int64_t t = 0; t < T; ++t)
                py[(b * C + c) * T + t] = static_cast<float>((xb[c * T + t] - sum[t]) * sq[t]) * pg[c] + pb[c];
    }
    return y;
}
"""


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.rand(channels, 1) + 0.5)
        self.beta = nn.Parameter(torch.randn(channels, 1) * 0.1)
        self.op = load_inline(
            name="cumulative_norm_cpu",
            cpp_sources=["#include <algorithm>\n" + src],
            functions=["cumulative_norm"],
            extra_cflags=["-O3", "-fopenmp"],
        )

    def forward(self, x):
        return self.op.cumulative_norm(x, self.gamma, self.beta, self.eps)
