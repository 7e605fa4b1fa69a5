# verdict: correct ok
# A running sum.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["running"],
    cpp_sources="""
#include <torch/extension.h>
#include <cmath>
torch::Tensor running(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int64_t rows = x.size(0), columns = x.size(1);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t s = 0;
    for (int64_t j = 0; j < columns; ++j) {
      s += (int64_t)x.data_ptr<int64_t>()[i * columns + j];
      out.data_ptr<int64_t>()[i * columns + j] = s;
    }
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x):
        return own.running(x)
