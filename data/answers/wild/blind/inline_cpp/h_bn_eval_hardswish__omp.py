import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = """
#include <torch/extension.h>
#include <cmath>
#include <algorithm>

torch::Tensor bn_skip_hardswish_cpu(
    torch::Tensor x, torch::Tensor skip,
    torch::Tensor running_mean, torch::Tensor running_var,
    torch::Tensor weight, torch::Tensor bias, double eps)
{
    TORCH_CHECK(!x.is_cuda(), "this is the CPU version");
    TORCH_CHECK(x.dim() == 4, "x must be NCHW");
    x = x.contiguous();
    skip = skip.contiguous();
    auto out = torch::empty_like(x);

    const int64_t N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    const float* px = x.data_ptr<float>();
    const float* ps = skip.data_ptr<float>();
    const float* pm = running_mean.data_ptr<float>();
    const float* pv = running_var.data_ptr<float>();
    const float* pw = weight.data_ptr<float>();
    const float* pb = bias.data_ptr<float>();
    float* po = out.data_ptr<float>();

    #pragma omp parallel for collapse(2)
    for (int64_t n = 0; n < N; ++n) {
        for (int64_t c = 0; c < C; ++c) {
            const float scale = pw[c] / std::sqrt(pv[c] + (float)eps);
            const float shift = pb[c] - pm[c] * scale;
            const int64_t base = (n * C + c) * HW;
            #pragma omp simd
            for (int64_t i = 0; i < HW; ++i) {
                const float z = px[base + i] * scale + shift + ps[base + i];
                const float t = std::min(std::max(z + 3.0f, 0.0f), 6.0f);
                po[base + i] = z * t / 6.0f;
            }
        }
    }
    return out;
}
"""

bn_skip_hardswish = load_inline(
    name="h_bn_skip_hardswish_cpu",
    cpp_sources=cpp_source,
    functions=["bn_skip_hardswish_cpu"],
    verbose=False,
    extra_cflags=["-O3", "-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, channels: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.2)
        self.register_buffer("running_var", torch.rand(channels) + 0.3)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        return bn_skip_hardswish.bn_skip_hardswish_cpu(
            x, skip, self.running_mean, self.running_var, self.weight, self.bias, self.eps)
