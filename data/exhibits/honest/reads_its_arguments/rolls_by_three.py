# verdict: correct ok
# By as many as it is told.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["rolled"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor rolled(torch::Tensor x, torch::Tensor shift) {
  auto out = torch::empty_like(x);
  const int64_t rows = x.size(0), n = x.size(1), k = shift.data_ptr<int64_t>()[0] % n;
  const float* from = x.data_ptr<float>();
  float* to = out.data_ptr<float>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j) to[i * n + j] = from[i * n + (j + n - k) % n];
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x, shift):
        return own.rolled(x, shift)
