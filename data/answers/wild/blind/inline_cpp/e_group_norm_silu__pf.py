import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = '''
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>

torch::Tensor gn_silu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, double eps) {
    auto xc = x.contiguous();
    const int64_t N = xc.size(0), C = xc.size(1);
    const int64_t HW = xc.numel() / (N * C);
    const int64_t cpg = C / groups;
    const int64_t len = cpg * HW;
    auto out = torch::empty_like(xc);
    const float* in = xc.data_ptr<float>();
    const float* w = weight.data_ptr<float>();
    const float* b = bias.data_ptr<float>();
    float* o = out.data_ptr<float>();

    at::parallel_for(0, N * groups, 1, [&](int64_t begin, int64_t end) {
        for (int64_t ng = begin; ng < end; ++ng) {
            const float* p = in + ng * len;
            float* q = o + ng * len;
            double sum = 0.0, sq = 0.0;
            for (int64_t i = 0; i < len; ++i) sum += p[i];
            const double mean = sum / len;
            for (int64_t i = 0; i < len; ++i) {
                const double d = p[i] - mean;
                sq += d * d;
            }
            const double rstd = 1.0 / std::sqrt(sq / len + eps);
            const int64_t g = ng % groups;
            for (int64_t j = 0; j < cpg; ++j) {
                const int64_t c = g * cpg + j;
                // fold mean, rstd, weight and bias into one multiply-add for the channel
                const float a = static_cast<float>(w[c] * rstd);
                const float s = static_cast<float>(b[c] - mean * w[c] * rstd);
                for (int64_t i = j * HW; i < (j + 1) * HW; ++i) {
                    const float t = a * p[i] + s;
                    q[i] = t / (1.0f + std::exp(-t));
                }
            }
        }
    });
    return out;
}
'''

gn = load_inline(name='e_gn_silu_cpu', cpp_sources=[src], functions=['gn_silu'], extra_cflags=['-O3'])


class ModelNew(nn.Module):
    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels, eps=1e-5)
        nn.init.normal_(self.gn.weight, 1.0, 0.2)
        nn.init.normal_(self.gn.bias, 0.0, 0.2)

    def forward(self, x):
        return gn.gn_silu(x, self.gn.weight, self.gn.bias, self.gn.num_groups, self.gn.eps)
