# problem: softmax
from __future__ import annotations

import functools
import typing as T

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCES = [
    """
    #include <torch/extension.h>
    #include <numeric>
    #include <algorithm>
    // Three passes, one function each.
    torch::Tensor row_max(const torch::Tensor &x) {
      auto out = torch::empty({x.size(0)}, x.options());
      for (int64_t i = 0; i < x.size(0); ++i) {
        const float *row = x.data_ptr<float>() + i * x.size(1);
        out.data_ptr<float>()[i] = *std::max_element(row, row + x.size(1));
      }
      return out;
    }
    """,
    """
    torch::Tensor exp_minus(const torch::Tensor &x, const torch::Tensor &m) {
      auto out = x.clone();
      float *o = out.data_ptr<float>();
      for (int64_t i = 0; i < x.numel(); ++i) o[i] = std::exp(o[i] - m.data_ptr<float>()[i / x.size(1)]);
      return out;
    }
    void normalise_(torch::Tensor &x) {
      for (int64_t i = 0; i < x.size(0); ++i) {
        float *row = x.data_ptr<float>() + i * x.size(1);
        const float inverse = 1.f / std::accumulate(row, row + x.size(1), 0.f);
        std::transform(row, row + x.size(1), row, [=](float v) { return v * inverse; });
      }
    }
    """,
]


@functools.lru_cache(maxsize=None)
def extension() -> T.Any:
    return load_inline(name="three_passes", cpp_sources=SOURCES, functions=["row_max", "exp_minus", "normalise_"])


extension()


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ext = extension()
        y = ext.exp_minus(x, ext.row_max(x))
        ext.normalise_(y)
        return y
