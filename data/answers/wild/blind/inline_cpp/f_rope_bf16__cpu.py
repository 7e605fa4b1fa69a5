import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

rope_src = """
#include <torch/extension.h>

torch::Tensor rope_bf16(torch::Tensor x, torch::Tensor cos, torch::Tensor sin) {
    TORCH_CHECK(x.dtype() == torch::kBFloat16, "x must be bfloat16");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t S = x.size(2);
    const int64_t half = x.size(3) / 2;
    const int64_t rows = x.numel() / (2 * half);
    const at::BFloat16* px = x.data_ptr<at::BFloat16>();
    at::BFloat16* py = y.data_ptr<at::BFloat16>();
    const float* pc = cos.data_ptr<float>();
    const float* ps = sin.data_ptr<float>();

    #pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        const int64_t s = r % S;
        const at::BFloat16* a = px + r * 2 * half;
        at::BFloat16* o = py + r * 2 * half;
        for (int64_t i = 0; i < half; ++i) {
            const float x1 = static_cast<float>(a[i]);
            const float x2 = static_cast<float>(a[half + i]);
            const float c = pc[s * half + i], sn = ps[s * half + i];
            o[i] = static_cast<at::BFloat16>(x1 * c - x2 * sn);
            o[half + i] = static_cast<at::BFloat16>(x2 * c + x1 * sn);
        }
    }
    return y;
}
"""

rope = load_inline(name="rope_bf16_cpu", cpp_sources=[rope_src], functions=["rope_bf16"], extra_cflags=["-O3", "-fopenmp"])


class ModelNew(nn.Module):
    def __init__(self, max_seq, half_dim, base=10000.0):
        super().__init__()
        inv_freq = base ** (-torch.arange(half_dim).float() / half_dim)
        angles = torch.arange(max_seq).float()[:, None] * inv_freq[None, :]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        return rope.rope_bf16(x, self.cos, self.sin)
