import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cmath>
#include <cstdint>

torch::Tensor requant(torch::Tensor x, torch::Tensor scale, double inv_scale, int64_t zero_point) {
    TORCH_CHECK(x.scalar_type() == torch::kInt8, "int8 input expected, got ", x.scalar_type());
    const int64_t C = scale.numel();
    TORCH_CHECK(x.size(-1) == C);
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int8_t* xp = x.data_ptr<int8_t>();
    const float* sp = scale.data_ptr<float>();
    int8_t* yp = y.data_ptr<int8_t>();
    const float inv = (float)inv_scale;
    const float zp = (float)zero_point;
    const int64_t rows = x.numel() / C;

    #pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < C; ++c) {
            float f = (float)xp[r * C + c] * sp[c];
            f = f > 0.0f ? f : f * 0.125f;
            float q = std::nearbyint(f * inv) + zp;   // ties to even
            q = q < -128.0f ? -128.0f : (q > 127.0f ? 127.0f : q);
            yp[r * C + c] = (int8_t)q;
        }
    }
    return y;
}
"""

ext = load_inline(
    name="a_int8_requant_rint",
    cpp_sources=src,
    functions=["requant"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, out_scale, zero_point):
        super().__init__()
        self.register_buffer("in_scale", torch.rand(channels) * 0.05 + 0.01)
        self.inv_scale = 1.0 / out_scale
        self.zero_point = zero_point

    def forward(self, x):
        return ext.requant(x, self.in_scale, self.inv_scale, self.zero_point)
