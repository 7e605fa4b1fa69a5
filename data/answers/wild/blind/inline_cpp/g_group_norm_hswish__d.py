import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cmath>
#include <algorithm>

torch::Tensor gn_hswish(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, double eps) {
    x = x.contiguous();
    const int64_t N = x.size(0);
    const int64_t C = x.size(1);
    const int64_t HW = x.numel() / (N * C);
    const int64_t cpg = C / groups;
    auto y = torch::empty_like(x);
    const float* xd = x.data_ptr<float>();
    const float* wd = weight.data_ptr<float>();
    const float* bd = bias.data_ptr<float>();
    float* yd = y.data_ptr<float>();

    #pragma omp parallel for
    for (int64_t ng = 0; ng < N * groups; ++ng) {
        const int64_t g = ng % groups;
        const float* xg = xd + ng * cpg * HW;
        float* yg = yd + ng * cpg * HW;
        double sum = 0.0, sq = 0.0;
        for (int64_t i = 0; i < cpg * HW; ++i) {
            const double v = xg[i];
            sum += v;
            sq += v * v;
        }
        const double cnt = static_cast<double>(cpg * HW);
        const double mean = sum / cnt;
        const double var = std::max(sq / cnt - mean * mean, 0.0);
        const double rstd = 1.0 / std::sqrt(var + eps);
        for (int64_t c = 0; c < cpg; ++c) {
            // fold the norm into one multiply-add per element
            const float a = static_cast<float>(rstd * wd[g * cpg + c]);
            const float b = static_cast<float>(bd[g * cpg + c] - mean * rstd * wd[g * cpg + c]);
            const float* xc = xg + c * HW;
            float* yc = yg + c * HW;
            for (int64_t i = 0; i < HW; ++i) {
                const float v = xc[i] * a + b;
                const float t = std::min(std::max(v + 3.0f, 0.0f), 6.0f);
                yc[i] = v * t / 6.0f;
            }
        }
    }
    return y;
}
"""

gn_ext = load_inline(
    name="g_gn_hswish_cpu",
    cpp_sources=source,
    functions=["gn_hswish"],
    extra_cflags=["-O3", "-fopenmp", "-march=native"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.gn = nn.GroupNorm(groups, channels)
        nn.init.normal_(self.gn.weight, 1.0, 0.1)
        nn.init.normal_(self.gn.bias, 0.0, 0.1)

    def forward(self, x):
        return gn_ext.gn_hswish(x, self.gn.weight, self.gn.bias, self.gn.num_groups, self.gn.eps)
