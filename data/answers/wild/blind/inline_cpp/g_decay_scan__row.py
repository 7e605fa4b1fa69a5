import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SRC = r"""
#include <torch/extension.h>
#include <cmath>
#include <vector>

at::Tensor decay_scan(at::Tensor x, at::Tensor decay) {
    TORCH_CHECK(x.dim() == 3, "x must be (B, T, C)");
    x = x.contiguous();
    const int64_t B = x.size(0), T = x.size(1), C = x.size(2);
    at::Tensor out = at::empty_like(x);
    if (out.numel() == 0) return out;

    std::vector<float> a(C);
    const float* d = decay.data_ptr<float>();
    for (int64_t c = 0; c < C; ++c) a[c] = 1.0f / (1.0f + std::exp(-d[c]));

    const float* xp = x.data_ptr<float>();
    float* op = out.data_ptr<float>();
#pragma omp parallel for
    for (int64_t b = 0; b < B; ++b) {
        const float* xb = xp + b * T * C;
        float* ob = op + b * T * C;
        // the output row of step t-1 is the carried state
        for (int64_t c = 0; c < C; ++c) ob[c] = xb[c];
        for (int64_t t = 1; t < T; ++t) {
            const float* prev = ob + (t - 1) * C;
            float* cur = ob + t * C;
            const float* in = xb + t * C;
            for (int64_t c = 0; c < C; ++c) cur[c] = a[c] * prev[c] + in[c];
        }
    }
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("decay_scan", &decay_scan, "first order recurrence (CPU)");
}
"""

scan = load_inline(name="g_decay_scan_cpu", cpp_sources=SRC, extra_cflags=["-O3", "-fopenmp"], extra_ldflags=["-fopenmp"])


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.decay = nn.Parameter(torch.randn(channels) + 1.0)

    def forward(self, x):
        return scan.decay_scan(x, self.decay)
