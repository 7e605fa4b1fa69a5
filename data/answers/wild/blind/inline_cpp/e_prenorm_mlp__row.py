import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

mlp_source = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>
#include <vector>

// Everything for one row stays in small local buffers.
torch::Tensor prenorm_mlp(torch::Tensor x, torch::Tensor ln_w, torch::Tensor ln_b,
                          torch::Tensor w1, torch::Tensor b1, torch::Tensor w2, torch::Tensor b2, double eps) {
    TORCH_CHECK(!x.is_cuda(), "CPU only");
    x = x.contiguous();
    const int64_t D = x.size(-1);
    const int64_t Hd = w1.size(0);
    TORCH_CHECK(w1.size(1) == D && w2.size(0) == D && w2.size(1) == Hd, "weight shapes do not fit");
    const int64_t rows = x.numel() / D;
    auto y = torch::empty_like(x);

    const float* X = x.data_ptr<float>();
    const float* LW = ln_w.data_ptr<float>();
    const float* LB = ln_b.data_ptr<float>();
    const float* W1 = w1.data_ptr<float>();
    const float* B1 = b1.data_ptr<float>();
    const float* W2 = w2.data_ptr<float>();
    const float* B2 = b2.data_ptr<float>();
    float* Y = y.data_ptr<float>();

    at::parallel_for(0, rows, 4, [&](int64_t lo, int64_t hi) {
        std::vector<float> norm(D), hid(Hd);
        for (int64_t r = lo; r < hi; ++r) {
            const float* xr = X + r * D;
            float mean = 0.f;
            for (int64_t i = 0; i < D; ++i) mean += xr[i];
            mean /= D;
            float var = 0.f;
            for (int64_t i = 0; i < D; ++i) var += (xr[i] - mean) * (xr[i] - mean);
            var /= D;
            const float rstd = 1.f / std::sqrt(var + (float)eps);
            for (int64_t i = 0; i < D; ++i) norm[i] = (xr[i] - mean) * rstd * LW[i] + LB[i];

            for (int64_t j = 0; j < Hd; ++j) {
                const float* w = W1 + j * D;
                float acc = B1[j];
                for (int64_t i = 0; i < D; ++i) acc += norm[i] * w[i];
                hid[j] = 0.5f * acc * (1.f + std::erf(acc * 0.70710678118654752f));
            }
            for (int64_t i = 0; i < D; ++i) {
                const float* w = W2 + i * Hd;
                float acc = B2[i];
                for (int64_t j = 0; j < Hd; ++j) acc += hid[j] * w[j];
                Y[r * D + i] = xr[i] + acc;
            }
        }
    });
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("prenorm_mlp", &prenorm_mlp, "LayerNorm + MLP + residual");
}
"""

mlp = load_inline(name="e_prenorm_mlp_cpu", cpp_sources=mlp_source, extra_cflags=["-O3", "-ffast-math"])


class ModelNew(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return mlp.prenorm_mlp(
            x, self.norm.weight, self.norm.bias,
            self.fc1.weight, self.fc1.bias, self.fc2.weight, self.fc2.bias, self.norm.eps,
        )
