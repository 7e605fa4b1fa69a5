import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CONV_SRC = r"""
#include <torch/extension.h>
#include <cmath>

torch::Tensor conv_bn(torch::Tensor x, torch::Tensor w, torch::Tensor scale_shift, torch::Tensor residual, bool use_residual) {
    const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), CO = w.size(0);
    auto y = torch::empty({N, CO, H, W}, x.options());
    y.zero_();
    const float* xp = x.data_ptr<float>();
    const float* wp = w.data_ptr<float>();
    const float* ss = scale_shift.data_ptr<float>();
    const float* rp = use_residual ? residual.data_ptr<float>() : nullptr;
    float* yp = y.data_ptr<float>();
    #pragma omp parallel for collapse(2)
    for (int64_t n = 0; n < N; ++n)
    for (int64_t co = 0; co < CO; ++co) {
        float* out = yp + (n * CO + co) * H * W;
        for (int64_t c = 0; c < C; ++c) {
            const float* in = xp + (n * C + c) * H * W;
            for (int kh = -1; kh <= 1; ++kh)
            for (int kw = -1; kw <= 1; ++kw) {
                const float k = wp[((co * C + c) * 3 + kh + 1) * 3 + kw + 1];
                const int64_t h_lo = kh < 0 ? 1 : 0, h_hi = kh > 0 ? H - 1 : H;
                const int64_t w_lo = kw < 0 ? 1 : 0, w_hi = kw > 0 ? W - 1 : W;
                for (int64_t h = h_lo; h < h_hi; ++h)
                    for (int64_t v = w_lo; v < w_hi; ++v)
                        out[h * W + v] += k * in[(h + kh) * W + v + kw];
            }
        }
        const float scale = ss[co], shift = ss[CO + co];
        const float* res = rp ? rp + (n * CO + co) * H * W : nullptr;
        for (int64_t i = 0; i < H * W; ++i) {
            float t = out[i] * scale + shift;
            if (res) t += res[i];
            out[i] = t > 0.0f ? t : 0.0f;
        }
    }
    return y;
}

torch::Tensor fold_bn(torch::Tensor mean, torch::Tensor var, torch::Tensor gamma, torch::Tensor beta, double eps) {
    const int64_t C = mean.size(0);
    auto out = torch::empty({2, C}, mean.options());
    auto m = mean.accessor<float, 1>();
    auto v = var.accessor<float, 1>();
    auto g = gamma.accessor<float, 1>();
    auto b = beta.accessor<float, 1>();
    auto o = out.accessor<float, 2>();
    for (int64_t i = 0; i < C; ++i) {
        const double s = g[i] / std::sqrt((double)v[i] + eps);
        o[0][i] = s;
        o[1][i] = b[i] - m[i] * s;
    }
    return out;
}
"""


class FusedConvBN:
    """Every conv owns its compiled op (the build itself is cached by torch)."""

    def __init__(self, conv, bn):
        self.conv = conv
        self.bn = bn
        self.op = load_inline(
            name="c_res_stack_conv_bn",
            cpp_sources=CONV_SRC,
            functions=["conv_bn", "fold_bn"],
            extra_cflags=["-O3", "-fopenmp"],
        )

    def __call__(self, x, residual=None):
        bn = self.bn
        ss = self.op.fold_bn(bn.running_mean, bn.running_var, bn.weight, bn.bias, bn.eps)
        use = residual is not None
        return self.op.conv_bn(x, self.conv.weight, ss, residual if use else x, use)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        for bn in (self.bn1, self.bn2):
            bn.running_mean.uniform_(-0.2, 0.2)
            bn.running_var.uniform_(0.5, 1.5)
        self.first = FusedConvBN(self.conv1, self.bn1)
        self.second = FusedConvBN(self.conv2, self.bn2)

    def forward(self, x):
        return self.second(self.first(x), residual=x)


class ModelNew(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(channels) for _ in range(depth)])

    def forward(self, x):
        with torch.no_grad():
            x = x.contiguous()
            for block in self.blocks:
                x = block(x)
            return x
