"""The kernel writes into a tensor that Python made; the weight is transposed by a view."""
import math
from typing import Optional

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

_ext = None


def get_ext():
    global _ext
    if _ext is None:
        _ext = load_inline(
            name="out_argument_ext",
            cpp_sources="void linear_out(torch::Tensor out, torch::Tensor x, torch::Tensor wt, const torch::Tensor& b, double s, bool relu, std::vector<int64_t> shape);\n"
            + """
void linear_out(torch::Tensor out, torch::Tensor x, torch::Tensor wt, const torch::Tensor& b, double s, bool relu, std::vector<int64_t> shape) {
  TORCH_CHECK(out.is_contiguous() && wt.stride(0) == 1, "layout");
  TORCH_CHECK(shape.size() == 2);
  float* o = out.mutable_data_ptr<float>();
  const float* xp = x.const_data_ptr<float>();
  const float* wp = wt.const_data_ptr<float>();
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) {
      double acc = 0;
      for (int64_t k = 0; k < x.size(1); ++k) acc += double(xp[i * x.stride(0) + k * x.stride(1)]) * wp[k * wt.stride(0) + j * wt.stride(1)];
      float v = acc + b.data_ptr<float>()[j];
      o[i * shape[1] + j] = (relu && v < 0 ? 0.f : v) * s;
    }
}
""",
            functions={"linear_out": "writes into its first argument"},
        )
    return _ext


get_ext()


class ModelNew(nn.Module):
    def __init__(self, width: int, gain: Optional[float] = None):
        super().__init__()
        self.linear = nn.Linear(width, 32)
        self.gain = gain if gain is not None else math.sqrt(1.0)

    def forward(self, x: torch.Tensor, scale: float) -> torch.Tensor:
        rows, _ = x.shape
        out = torch.empty((rows, self.linear.out_features), dtype=x.dtype, device=x.device)
        get_ext().linear_out(out, x, self.linear.weight.t(), self.linear.bias, scale * self.gain, True, list(out.shape))
        return out.view(rows, -1)
