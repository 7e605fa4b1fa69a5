import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_src = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define HAVE_AVX 1
#endif

static inline float sum_sq(const float* p, int64_t n) {
    int64_t i = 0;
    float total = 0.f;
#ifdef HAVE_AVX
    __m256 a0 = _mm256_setzero_ps(), a1 = _mm256_setzero_ps();
    for (; i + 16 <= n; i += 16) {
        const __m256 v0 = _mm256_loadu_ps(p + i), v1 = _mm256_loadu_ps(p + i + 8);
        a0 = _mm256_fmadd_ps(v0, v0, a0);
        a1 = _mm256_fmadd_ps(v1, v1, a1);
    }
    a0 = _mm256_add_ps(a0, a1);
    __m128 lo = _mm_add_ps(_mm256_castps256_ps128(a0), _mm256_extractf128_ps(a0, 1));
    lo = _mm_add_ps(lo, _mm_movehl_ps(lo, lo));
    lo = _mm_add_ss(lo, _mm_shuffle_ps(lo, lo, 1));
    total = _mm_cvtss_f32(lo);
#endif
    for (; i < n; ++i) total += p[i] * p[i];
    return total;
}

torch::Tensor rms_gate(torch::Tensor x, torch::Tensor gate, torch::Tensor weight, double eps) {
    TORCH_CHECK(x.sizes() == gate.sizes(), "x and gate shapes differ");
    x = x.contiguous();
    gate = gate.contiguous();
    weight = weight.contiguous();
    auto y = torch::empty_like(x);
    const int64_t D = x.size(-1), rows = x.numel() / D;
    const float* xp = x.data_ptr<float>();
    const float* gp = gate.data_ptr<float>();
    const float* wp = weight.data_ptr<float>();
    float* yp = y.data_ptr<float>();

    at::parallel_for(0, rows, 4, [&](int64_t lo, int64_t hi) {
        for (int64_t r = lo; r < hi; ++r) {
            const float* xr = xp + r * D;
            const float* gr = gp + r * D;
            float* yr = yp + r * D;
            const float inv = 1.0f / std::sqrt(sum_sq(xr, D) / static_cast<float>(D) + static_cast<float>(eps));
            for (int64_t i = 0; i < D; ++i) {
                const float g = gr[i];
                yr[i] = xr[i] * inv * wp[i] * (g / (1.0f + std::exp(-g)));
            }
        }
    });
    return y;
}
"""

rms_gate_ext = load_inline(
    name="g_rms_gate_avx",
    cpp_sources=cpp_src,
    functions=["rms_gate"],
    extra_cflags=["-O3", "-march=native", "-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.05 * torch.randn(dim))
        self.eps = eps

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        return rms_gate_ext.rms_gate(x, gate, self.weight, self.eps)
