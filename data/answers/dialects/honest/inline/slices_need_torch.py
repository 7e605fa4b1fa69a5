"""Uses what only PyTorch's own headers have: slicing, narrow, options of Tensor methods."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, double s) {
  auto out = torch::empty({x.size(0), w.size(0)}, x.options());
  at::parallel_for(0, x.size(0), 8, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      auto row = x.select(0, i);
      auto target = out.narrow(0, i, 1).squeeze(0);
      const float* xp = row.data_ptr<float>();
      for (int64_t j = 0; j < w.size(0); ++j) {
        float sum = b.data_ptr<float>()[j];
        for (int64_t k = 0; k < x.size(1); ++k) sum += xp[k] * w.data_ptr<float>()[j * x.size(1) + k];
        target.data_ptr<float>()[j] = std::max(sum, 0.f) * float(s);
      }
    }
  });
  return out;
}
"""
ext = load_inline(name="slices", cpp_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)

    def forward(self, x, scale):
        return ext.run(x, self.linear.weight, self.linear.bias, scale)
