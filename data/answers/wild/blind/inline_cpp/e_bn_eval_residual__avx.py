import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bn_cpp = r"""
#include <torch/extension.h>
#include <cmath>
#include <algorithm>
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define USE_AVX2 1
#endif

static inline void affine_add_relu(const float* x, const float* r, float* o, int64_t n, float a, float b) {
    int64_t i = 0;
#ifdef USE_AVX2
    const __m256 va = _mm256_set1_ps(a);
    const __m256 vb = _mm256_set1_ps(b);
    const __m256 zero = _mm256_setzero_ps();
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), va, vb);
        v = _mm256_add_ps(v, _mm256_loadu_ps(r + i));
        _mm256_storeu_ps(o + i, _mm256_max_ps(v, zero));
    }
#endif
    for (; i < n; ++i) o[i] = std::max(a * x[i] + b + r[i], 0.0f);
}

torch::Tensor bn_add_relu(const torch::Tensor& x_, const torch::Tensor& r_, const torch::Tensor& mean,
                          const torch::Tensor& var, const torch::Tensor& w, const torch::Tensor& b, double eps) {
    TORCH_CHECK(x_.sizes() == r_.sizes(), "x and residual must match");
    const auto x = x_.contiguous();
    const auto r = r_.contiguous();
    auto out = torch::empty_like(x);
    const int64_t N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    const float* mp = mean.data_ptr<float>();
    const float* vp = var.data_ptr<float>();
    const float* wp = w.data_ptr<float>();
    const float* bp = b.data_ptr<float>();
    const float* xp = x.data_ptr<float>();
    const float* rp = r.data_ptr<float>();
    float* op = out.data_ptr<float>();

    #pragma omp parallel for
    for (int64_t nc = 0; nc < N * C; ++nc) {
        const int64_t c = nc % C;
        const float a = wp[c] / std::sqrt(vp[c] + static_cast<float>(eps));
        const float s = bp[c] - mp[c] * a;
        affine_add_relu(xp + nc * HW, rp + nc * HW, op + nc * HW, HW, a, s);
    }
    return out;
}
"""

_bn = load_inline(
    name="e_bn_avx",
    cpp_sources=bn_cpp,
    functions=["bn_add_relu"],
    extra_cflags=["-O3", "-march=native", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.2)
        self.register_buffer("running_var", torch.rand(channels) + 0.3)

    def forward(self, x, residual):
        return _bn.bn_add_relu(x, residual, self.running_mean, self.running_var, self.weight, self.bias, self.eps)
