import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>
#include <vector>
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define USE_AVX 1
#endif

static void row_kernel(const float* x, const float* r, const float* w, float* y, float* s, int64_t n, float eps) {
    float ss = 0.f;
    int64_t i = 0;
#ifdef USE_AVX
    __m256 acc = _mm256_setzero_ps();
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_add_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(r + i));
        _mm256_storeu_ps(s + i, v);
        acc = _mm256_fmadd_ps(v, v, acc);
    }
    float lanes[8];
    _mm256_storeu_ps(lanes, acc);
    for (int l = 0; l < 8; ++l) ss += lanes[l];
#endif
    for (; i < n; ++i) {
        s[i] = x[i] + r[i];
        ss += s[i] * s[i];
    }
    const float inv = 1.0f / std::sqrt(ss / n + eps);
    i = 0;
#ifdef USE_AVX
    const __m256 vinv = _mm256_set1_ps(inv);
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_mul_ps(_mm256_loadu_ps(s + i), vinv);
        _mm256_storeu_ps(y + i, _mm256_mul_ps(v, _mm256_loadu_ps(w + i)));
    }
#endif
    for (; i < n; ++i) y[i] = s[i] * inv * w[i];
}

std::vector<torch::Tensor> add_rms_norm(torch::Tensor x, torch::Tensor r, torch::Tensor w, double eps) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat, "float32 expected");
    TORCH_CHECK(x.sizes() == r.sizes(), "x and residual must have the same shape");
    x = x.contiguous(); r = r.contiguous(); w = w.contiguous();
    auto y = torch::empty_like(x);
    auto s = torch::empty_like(x);
    const int64_t n = x.size(-1), rows = x.numel() / n;
    const float *xp = x.data_ptr<float>(), *rp = r.data_ptr<float>(), *wp = w.data_ptr<float>();
    float *yp = y.data_ptr<float>(), *sp = s.data_ptr<float>();
    at::parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
            row_kernel(xp + row * n, rp + row * n, wp, yp + row * n, sp + row * n, n, (float)eps);
    });
    return {y, s};
}
"""

ext = load_inline(name="add_rms_norm_cpu", cpp_sources=[cpp_source], functions=["add_rms_norm"],
                  extra_cflags=["-O3", "-march=native"])


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x, residual):
        y, s = ext.add_rms_norm(x, residual, self.weight, self.eps)
        return y, s
