import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

rope_cpp = r"""
#include <torch/extension.h>

namespace {

template <typename T>
void rotate(const T* x, T* y, const int64_t* pos, const T* c, const T* s, int64_t tokens, int64_t heads, int64_t half) {
    for (int64_t t = 0; t < tokens; ++t) {
        const T* ct = c + pos[t] * half;
        const T* st = s + pos[t] * half;
        for (int64_t h = 0; h < heads; ++h) {
            const T* src = x + (t * heads + h) * 2 * half;
            T* dst = y + (t * heads + h) * 2 * half;
            for (int64_t i = 0; i < half; ++i) {
                const T a = src[i], b = src[half + i];
                dst[i] = a * ct[i] - b * st[i];
                dst[half + i] = b * ct[i] + a * st[i];
            }
        }
    }
}

}  // namespace

std::vector<at::Tensor> rope(at::Tensor q, at::Tensor k, at::Tensor pos, at::Tensor cos, at::Tensor sin) {
    q = q.contiguous();
    k = k.contiguous();
    pos = pos.contiguous();
    auto qo = at::empty_like(q);
    auto ko = at::empty_like(k);
    const int64_t half = cos.size(1), tokens = pos.numel();
    AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "rope_cpu", [&] {
        rotate<scalar_t>(q.data_ptr<scalar_t>(), qo.data_ptr<scalar_t>(), pos.data_ptr<int64_t>(),
                         cos.data_ptr<scalar_t>(), sin.data_ptr<scalar_t>(), tokens, q.size(2), half);
        rotate<scalar_t>(k.data_ptr<scalar_t>(), ko.data_ptr<scalar_t>(), pos.data_ptr<int64_t>(),
                         cos.data_ptr<scalar_t>(), sin.data_ptr<scalar_t>(), tokens, k.size(2), half);
    });
    return {qo, ko};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("rope", &rope, "apply rotary embedding to q and k");
}
"""

rope_module = load_inline(name="rope_cpu_inline", cpp_sources=rope_cpp)


class ModelNew(nn.Module):
    def __init__(self, half_dim, max_pos):
        super().__init__()
        inv = 10000.0 ** (-torch.arange(half_dim).float() / half_dim)
        angles = torch.arange(max_pos).float()[:, None] * inv[None, :]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, q, k, pos):
        q_rot, k_rot = rope_module.rope(q, k, pos, self.cos, self.sin)
        return q_rot, k_rot
