import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = r"""
#include <torch/extension.h>
#include <cmath>
#include <cstdlib>
#include <cstring>

static inline float phi(float x) { return x > 0.f ? x + 1.f : std::exp(x); }

// one (batch, head) slice; state is [D, D], ksum is [D], both scratch
extern "C" void linear_attention_head(const float* q, const float* k, const float* v, float* out,
                                      float* state, float* ksum, long S, long D, float eps) {
    std::memset(state, 0, sizeof(float) * D * D);
    std::memset(ksum, 0, sizeof(float) * D);
    for (long s = 0; s < S; ++s) {
        for (long d = 0; d < D; ++d) {
            const float kd = phi(k[s * D + d]);
            ksum[d] += kd;
            for (long e = 0; e < D; ++e) state[d * D + e] += kd * v[s * D + e];
        }
    }
    for (long s = 0; s < S; ++s) {
        float* o = out + s * D;
        float z = 0.f;
        for (long e = 0; e < D; ++e) o[e] = 0.f;
        for (long d = 0; d < D; ++d) {
            const float qd = phi(q[s * D + d]);
            z += qd * ksum[d];
            for (long e = 0; e < D; ++e) o[e] += qd * state[d * D + e];
        }
        const float inv = 1.f / (z + eps);
        for (long e = 0; e < D; ++e) o[e] *= inv;
    }
}

torch::Tensor linear_attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, double eps) {
    q = q.contiguous();
    k = k.contiguous();
    v = v.contiguous();
    TORCH_CHECK(q.sizes() == k.sizes() && k.sizes() == v.sizes(), "q, k and v must have the same shape");
    const long heads = q.size(0) * q.size(1), S = q.size(2), D = q.size(3);
    auto out = torch::empty_like(q);
    auto state = torch::empty({heads, D, D}, q.options());
    auto ksum = torch::empty({heads, D}, q.options());
    const float *qp = q.data_ptr<float>(), *kp = k.data_ptr<float>(), *vp = v.data_ptr<float>();
    float *op = out.data_ptr<float>(), *sp = state.data_ptr<float>(), *zp = ksum.data_ptr<float>();
#pragma omp parallel for
    for (long h = 0; h < heads; ++h) {
        const long off = h * S * D;
        linear_attention_head(qp + off, kp + off, vp + off, op + off, sp + h * D * D, zp + h * D, S, D, (float)eps);
    }
    return out;
}
"""

_lib = load_inline(name="linear_attention_c", cpp_sources=cpp_source, functions=["linear_attention"],
                   extra_cflags=["-O3", "-fopenmp"], extra_ldflags=["-fopenmp"])


class ModelNew(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        # kept as a 0-dim tensor (not a buffer), converted to double by the binding
        self.eps = torch.tensor(eps, dtype=torch.float64)

    def forward(self, q, k, v):
        return _lib.linear_attention(q, k, v, self.eps)
