import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/vec/vec.h>
#include <cmath>

using Vec = at::vec::Vectorized<float>;

static float vec_sum(const Vec& v) {
    float tmp[Vec::size()];
    v.store(tmp);
    float s = 0.f;
    for (int i = 0; i < (int)Vec::size(); ++i) s += tmp[i];
    return s;
}

torch::Tensor ln_gelu_skip(const torch::Tensor& input, const torch::Tensor& weight, const torch::Tensor& bias, double eps) {
    auto x = input.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.size(-1), rows = x.numel() / n;
    const float* xp = x.data_ptr<float>();
    const float* wp = weight.data_ptr<float>();
    const float* bp = bias.data_ptr<float>();
    float* yp = y.data_ptr<float>();
    const int64_t step = Vec::size();
    const int64_t nv = n - n % step;

    at::parallel_for(0, rows, 8, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            const float* in = xp + r * n;
            float* out = yp + r * n;

            Vec acc(0.f);
            for (int64_t i = 0; i < nv; i += step) acc = acc + Vec::loadu(in + i);
            float sum = vec_sum(acc);
            for (int64_t i = nv; i < n; ++i) sum += in[i];
            const float mean = sum / n;

            Vec sq(0.f);
            const Vec vmean(mean);
            for (int64_t i = 0; i < nv; i += step) {
                const Vec d = Vec::loadu(in + i) - vmean;
                sq = sq + d * d;
            }
            float var = vec_sum(sq);
            for (int64_t i = nv; i < n; ++i) var += (in[i] - mean) * (in[i] - mean);
            const float rstd = 1.f / std::sqrt(var / n + (float)eps);

            const Vec vr(rstd), half(0.5f), one(1.f), k(0.70710678118654752f);
            for (int64_t i = 0; i < nv; i += step) {
                const Vec v = Vec::loadu(in + i);
                const Vec h = (v - vmean) * vr * Vec::loadu(wp + i) + Vec::loadu(bp + i);
                const Vec g = half * h * (one + (h * k).erf());
                (v + g).store(out + i);
            }
            for (int64_t i = nv; i < n; ++i) {
                const float h = (in[i] - mean) * rstd * wp[i] + bp[i];
                out[i] = in[i] + 0.5f * h * (1.f + std::erf(h * 0.70710678118654752f));
            }
        }
    });
    return y;
}
"""

_ext = load_inline(name="ln_gelu_skip_vec", cpp_sources=[source], functions=["ln_gelu_skip"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias, std=0.1)

    def forward(self, x):
        return _ext.ln_gelu_skip(x, self.norm.weight, self.norm.bias, self.norm.eps)
