import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bn_cpp = r"""
#include <torch/extension.h>
#include <cmath>
#include <algorithm>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

static void plane_kernel(const float* x, const float* s, float* y, int64_t n, float scale, float shift) {
    int64_t i = 0;
#if defined(__AVX2__)
    const __m256 vs = _mm256_set1_ps(scale);
    const __m256 vb = _mm256_set1_ps(shift);
    const __m256 zero = _mm256_setzero_ps();
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(x + i), vs), vb);
        v = _mm256_add_ps(v, _mm256_loadu_ps(s + i));
        _mm256_storeu_ps(y + i, _mm256_max_ps(v, zero));
    }
#endif
    for (; i < n; ++i) y[i] = std::max(x[i] * scale + shift + s[i], 0.0f);
}

torch::Tensor bn_add_relu(torch::Tensor x, torch::Tensor skip, torch::Tensor mean, torch::Tensor var,
                          torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.sizes() == skip.sizes(), "x and skip must have the same shape");
    TORCH_CHECK(x.is_contiguous() && skip.is_contiguous());
    const int64_t N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    auto y = torch::empty_like(x);
    const float *xp = x.data_ptr<float>(), *sp = skip.data_ptr<float>();
    const float *m = mean.data_ptr<float>(), *v = var.data_ptr<float>();
    const float *w = weight.data_ptr<float>(), *b = bias.data_ptr<float>();
    float* yp = y.data_ptr<float>();
    #pragma omp parallel for
    for (int64_t nc = 0; nc < N * C; ++nc) {
        const int64_t c = nc % C;
        const float scale = w[c] / std::sqrt(v[c] + static_cast<float>(eps));
        const float shift = b[c] - m[c] * scale;
        plane_kernel(xp + nc * HW, sp + nc * HW, yp + nc * HW, HW, scale, shift);
    }
    return y;
}
"""

bn_module = load_inline(
    name="bn_add_relu_avx",
    cpp_sources=bn_cpp,
    functions=["bn_add_relu"],
    extra_cflags=["-O3", "-mavx2", "-mfma", "-fopenmp"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.bn.weight, 0.5, 1.5)
        nn.init.uniform_(self.bn.bias, -0.5, 0.5)
        self.bn.running_mean.uniform_(-0.5, 0.5)
        self.bn.running_var.uniform_(0.5, 2.0)

    def forward(self, x, skip):
        return bn_module.bn_add_relu(
            x.contiguous(), skip.contiguous(), self.bn.running_mean, self.bn.running_var,
            self.bn.weight, self.bn.bias, self.bn.eps)
