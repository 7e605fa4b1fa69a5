import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

conv_source = r'''
#include <torch/extension.h>
#include <algorithm>
#include <cmath>
#include <vector>

torch::Tensor conv_bn_add_relu(torch::Tensor x, torch::Tensor w, torch::Tensor gamma, torch::Tensor beta,
                               torch::Tensor mean, torch::Tensor var, double eps) {
    TORCH_CHECK(x.dim() == 4 && w.dim() == 4, "bad ranks");
    TORCH_CHECK(w.size(0) == x.size(1) && w.size(1) == x.size(1), "C_in must equal C_out");
    x = x.contiguous();
    w = w.contiguous();
    const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    auto y = torch::empty_like(x);
    auto ga = gamma.accessor<float, 1>();
    auto ba = beta.accessor<float, 1>();
    auto ma = mean.accessor<float, 1>();
    auto va = var.accessor<float, 1>();
    const float* xp = x.data_ptr<float>();
    const float* wp = w.data_ptr<float>();
    float* yp = y.data_ptr<float>();

    #pragma omp parallel for collapse(2) schedule(dynamic)
    for (int64_t n = 0; n < N; ++n) {
        for (int64_t co = 0; co < C; ++co) {
            std::vector<float> acc(H * W, 0.0f);
            for (int64_t ci = 0; ci < C; ++ci) {
                const float* xc = xp + (n * C + ci) * H * W;
                const float* wk = wp + (co * C + ci) * 9;
                for (int kh = 0; kh < 3; ++kh) {
                    for (int kw = 0; kw < 3; ++kw) {
                        const float f = wk[kh * 3 + kw];
                        const int64_t h0 = std::max<int64_t>(0, 1 - kh), h1 = std::min<int64_t>(H, H + 1 - kh);
                        const int64_t w0 = std::max<int64_t>(0, 1 - kw), w1 = std::min<int64_t>(W, W + 1 - kw);
                        for (int64_t h = h0; h < h1; ++h) {
                            float* a = acc.data() + h * W;
                            const float* s = xc + (h + kh - 1) * W + (kw - 1);
                            for (int64_t q = w0; q < w1; ++q) a[q] += f * s[q];
                        }
                    }
                }
            }
            const float sc = ga[co] / std::sqrt(va[co] + static_cast<float>(eps));
            const float sh = ba[co] - ma[co] * sc;
            const float* xr = xp + (n * C + co) * H * W;
            float* yo = yp + (n * C + co) * H * W;
            for (int64_t i = 0; i < H * W; ++i) yo[i] = std::max(acc[i] * sc + sh + xr[i], 0.0f);
        }
    }
    return y;
}
'''

conv_ext = load_inline(
    name='g_conv_bn_add_relu_cpu',
    cpp_sources=conv_source,
    functions=['conv_bn_add_relu'],
    extra_cflags=['-O3', '-fopenmp', '-march=native'],
    extra_ldflags=['-fopenmp'],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.gamma = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.beta = nn.Parameter(0.1 * torch.randn(channels))
        self.register_buffer("running_mean", 0.1 * torch.randn(channels))
        self.register_buffer("running_var", 0.5 + torch.rand(channels))
        self.eps = eps

    def forward(self, x):
        return conv_ext.conv_bn_add_relu(
            x, self.conv.weight.detach(), self.gamma.detach(), self.beta.detach(),
            self.running_mean, self.running_var, self.eps,
        )
