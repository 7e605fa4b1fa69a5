import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_src = r"""
#include <torch/extension.h>
#include <c10/util/Half.h>
#include <cmath>
#include <vector>

std::vector<torch::Tensor> add_ln(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.scalar_type() == torch::kHalf, "half expected");
    x = x.contiguous();
    residual = residual.contiguous();
    const int64_t D = x.size(-1);
    const int64_t R = x.numel() / D;
    auto y = torch::empty_like(x);
    auto s = torch::empty_like(x);
    const c10::Half* xp = x.data_ptr<c10::Half>();
    const c10::Half* rp = residual.data_ptr<c10::Half>();
    const c10::Half* wp = weight.data_ptr<c10::Half>();
    const c10::Half* bp = bias.data_ptr<c10::Half>();
    c10::Half* yp = y.data_ptr<c10::Half>();
    c10::Half* sp = s.data_ptr<c10::Half>();

    #pragma omp parallel
    {
        std::vector<float> buf(D);
        #pragma omp for
        for (int64_t r = 0; r < R; ++r) {
            float sum = 0.f;
            for (int64_t i = 0; i < D; ++i) {
                const c10::Half h = static_cast<c10::Half>(static_cast<float>(xp[r * D + i]) + static_cast<float>(rp[r * D + i]));
                sp[r * D + i] = h;
                buf[i] = static_cast<float>(h);
                sum += buf[i];
            }
            const float mean = sum / D;
            float var = 0.f;
            for (int64_t i = 0; i < D; ++i) {
                buf[i] -= mean;
                var += buf[i] * buf[i];
            }
            const float rstd = 1.f / std::sqrt(var / D + static_cast<float>(eps));
            for (int64_t i = 0; i < D; ++i)
                yp[r * D + i] = static_cast<c10::Half>(buf[i] * rstd * static_cast<float>(wp[i]) + static_cast<float>(bp[i]));
        }
    }
    return {y, s};
}
"""

add_ln_ext = load_inline(
    name="add_ln_half_cpu",
    cpp_sources=[cpp_src],
    functions=["add_ln"],
    extra_cflags=["-O3", "-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((1.0 + 0.1 * torch.randn(width)).half())
        self.bias = nn.Parameter((0.1 * torch.randn(width)).half())

    def forward(self, x, residual):
        y, s = add_ln_ext.add_ln(x, residual, self.weight, self.bias, self.eps)
        return y, s
