import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_source = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <algorithm>
#include <cmath>
#ifdef __AVX2__
#include <immintrin.h>
#endif

torch::Tensor swiglu_clamp(torch::Tensor gate, torch::Tensor up, double limit_, double alpha_) {
  TORCH_CHECK(gate.scalar_type() == torch::kFloat32, "float32 expected");
  TORCH_CHECK(gate.sizes() == up.sizes(), "gate and up must have the same shape");
  auto gc = gate.contiguous();
  auto uc = up.contiguous();
  auto out = torch::empty_like(gc);
  const float* g = gc.data_ptr<float>();
  const float* u = uc.data_ptr<float>();
  float* o = out.data_ptr<float>();
  const float limit = (float)limit_, alpha = (float)alpha_;

  at::parallel_for(0, gc.numel(), 8192, [&](int64_t begin, int64_t end) {
    // sigmoid first (scalar expf), then the rest with vectors
    for (int64_t i = begin; i < end; ++i) o[i] = 1.0f / (1.0f + std::exp(-g[i]));
    int64_t i = begin;
#ifdef __AVX2__
    const __m256 hi = _mm256_set1_ps(limit), lo = _mm256_set1_ps(-limit), al = _mm256_set1_ps(alpha);
    for (; i + 8 <= end; i += 8) {
      __m256 gv = _mm256_loadu_ps(g + i);
      __m256 uv = _mm256_min_ps(_mm256_max_ps(_mm256_loadu_ps(u + i), lo), hi);
      __m256 sv = _mm256_loadu_ps(o + i);
      // g * (s * u + alpha)
      __m256 r = _mm256_mul_ps(gv, _mm256_add_ps(_mm256_mul_ps(sv, uv), al));
      _mm256_storeu_ps(o + i, r);
    }
#endif
    for (; i < end; ++i) {
      const float uv = std::min(std::max(u[i], -limit), limit);
      o[i] = g[i] * (o[i] * uv + alpha);
    }
  });
  return out;
}
"""

ext = load_inline(
    name="h_swiglu_clamp_cpu",
    cpp_sources=cpp_source,
    functions=["swiglu_clamp"],
    extra_cflags=["-O3", "-march=native"],
)


class ModelNew(nn.Module):
    def __init__(self, limit: float, alpha: float):
        super(ModelNew, self).__init__()
        self.limit = limit
        self.alpha = alpha

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return ext.swiglu_clamp(gate, up, self.limit, self.alpha)
