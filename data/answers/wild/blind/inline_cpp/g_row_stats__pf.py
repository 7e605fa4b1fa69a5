import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>
#include <tuple>

std::tuple<at::Tensor, at::Tensor, at::Tensor> row_stats(const at::Tensor& input) {
  TORCH_CHECK(input.dim() == 2, "expected a matrix");
  auto x = input.contiguous();
  const int64_t rows = x.size(0), cols = x.size(1);
  auto vals = at::empty({rows}, x.options());
  auto idxs = at::empty({rows}, x.options().dtype(at::kLong));
  auto lses = at::empty({rows}, x.options());
  const float* xp = x.data_ptr<float>();
  float* vp = vals.data_ptr<float>();
  int64_t* ip = idxs.data_ptr<int64_t>();
  float* lp = lses.data_ptr<float>();

  at::parallel_for(0, rows, 8, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* p = xp + r * cols;
      float m = p[0];
      int64_t mi = 0;
      for (int64_t c = 1; c < cols; ++c) {
        if (p[c] > m) {
          m = p[c];
          mi = c;
        }
      }
      // four partial sums break the dependency chain
      float s0 = 0.f, s1 = 0.f, s2 = 0.f, s3 = 0.f;
      int64_t c = 0;
      for (; c + 4 <= cols; c += 4) {
        s0 += std::exp(p[c] - m);
        s1 += std::exp(p[c + 1] - m);
        s2 += std::exp(p[c + 2] - m);
        s3 += std::exp(p[c + 3] - m);
      }
      for (; c < cols; ++c) s0 += std::exp(p[c] - m);
      vp[r] = m;
      ip[r] = mi;
      lp[r] = m + std::log((s0 + s1) + (s2 + s3));
    }
  });
  return std::make_tuple(vals, idxs, lses);
}
"""

_mod = load_inline(name="g_row_stats_cpu", cpp_sources=[src], functions=["row_stats"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return _mod.row_stats(x)
