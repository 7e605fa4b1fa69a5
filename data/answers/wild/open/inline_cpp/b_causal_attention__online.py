import torch
import torch.nn as nn
import math
from torch.utils.cpp_extension import load_inline

cpp_source = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

torch::Tensor causal_attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, double scale) {
    q = q.contiguous();
    k = k.contiguous();
    v = v.contiguous();
    const int64_t BH = q.size(0) * q.size(1);
    const int64_t S = q.size(2);
    const int64_t D = q.size(3);
    auto out = torch::empty_like(q);

    const float* Q = q.data_ptr<float>();
    const float* Kp = k.data_ptr<float>();
    const float* V = v.data_ptr<float>();
    float* O = out.data_ptr<float>();
    const float sc = static_cast<float>(scale);

    at::parallel_for(0, BH * S, 8, [&](int64_t begin, int64_t end) {
        std::vector<float> acc(D);
        for (int64_t idx = begin; idx < end; ++idx) {
            const int64_t bh = idx / S;
            const int64_t i = idx % S;
            const float* qi = Q + idx * D;
            const float* kb = Kp + bh * S * D;
            const float* vb = V + bh * S * D;
            std::fill(acc.begin(), acc.end(), 0.f);
            float m = -std::numeric_limits<float>::infinity();
            float l = 0.f;
            // single pass with a running maximum; keys after i are masked, so never visited
            for (int64_t j = 0; j <= i; ++j) {
                float s = 0.f;
                for (int64_t d = 0; d < D; ++d) s += qi[d] * kb[j * D + d];
                s *= sc;
                const float m_new = s > m ? s : m;
                const float corr = std::exp(m - m_new);
                const float p = std::exp(s - m_new);
                l = l * corr + p;
                for (int64_t d = 0; d < D; ++d) acc[d] = acc[d] * corr + p * vb[j * D + d];
                m = m_new;
            }
            for (int64_t d = 0; d < D; ++d) O[idx * D + d] = acc[d] / l;
        }
    });
    return out;
}
"""

attn = load_inline(
    name="causal_attention_online_cpu",
    cpp_sources=cpp_source,
    functions=["causal_attention"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        return attn.causal_attention(q, k, v, 1.0 / math.sqrt(q.size(-1)))
