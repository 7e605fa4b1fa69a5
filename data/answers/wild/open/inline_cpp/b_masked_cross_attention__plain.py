import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cpp_src = r'''
#include <torch/extension.h>
#include <cmath>
#include <algorithm>
#include <tuple>

std::tuple<at::Tensor, at::Tensor> masked_attention(const at::Tensor& q_, const at::Tensor& memory_,
                                                    const at::Tensor& lengths_, double scale) {
    const at::Tensor q = q_.contiguous(), memory = memory_.contiguous(), lengths = lengths_.contiguous();
    TORCH_CHECK(lengths.scalar_type() == at::kLong, "lengths must be int64");
    const int64_t B = q.size(0), Q = q.size(1), D = q.size(2), T = memory.size(1);
    at::Tensor ctx = at::zeros_like(q);
    at::Tensor weights = at::zeros({B, Q, T}, q.options());   // padded columns stay 0
    const float* qp = q.data_ptr<float>();
    const float* mp = memory.data_ptr<float>();
    const int64_t* lp = lengths.data_ptr<int64_t>();
    float* cp = ctx.data_ptr<float>();
    float* wp = weights.data_ptr<float>();

    for (int64_t b = 0; b < B; ++b) {
        const int64_t len = std::min<int64_t>(lp[b], T);
        const float* mem = mp + b * T * D;
        for (int64_t i = 0; i < Q; ++i) {
            const float* qi = qp + (b * Q + i) * D;
            float* w = wp + (b * Q + i) * T;
            float* c = cp + (b * Q + i) * D;
            float mx = -INFINITY;
            for (int64_t t = 0; t < len; ++t) {
                float s = 0.f;
                for (int64_t d = 0; d < D; ++d) s += qi[d] * mem[t * D + d];
                w[t] = s * static_cast<float>(scale);
                mx = std::max(mx, w[t]);
            }
            double sum = 0.0;
            for (int64_t t = 0; t < len; ++t) {
                w[t] = std::exp(w[t] - mx);
                sum += w[t];
            }
            const float inv = static_cast<float>(1.0 / sum);
            for (int64_t t = 0; t < len; ++t) {
                w[t] *= inv;
                for (int64_t d = 0; d < D; ++d) c[d] += w[t] * mem[t * D + d];
            }
        }
    }
    return std::make_tuple(ctx, weights);
}
'''

attention = load_inline(name='masked_cross_attention_cpu', cpp_sources=cpp_src, functions=['masked_attention'],
                        extra_cflags=['-O3', '-march=native'])


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.scale = dim ** -0.5

    def forward(self, query, memory, lengths):
        # the projection is already a well tuned sgemm on the CPU
        q = F.linear(query, self.q_proj.weight).detach()
        return attention.masked_attention(q, memory, lengths, self.scale)
