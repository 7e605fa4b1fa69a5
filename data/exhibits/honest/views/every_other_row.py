# verdict: correct ok
# Makes a slice contiguous first.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["run"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor run(torch::Tensor x) {
  auto out = torch::empty({x.size(0), x.size(1)}, x.options());
  x = x.contiguous();
  const float* from = x.data_ptr<float>();
  float* to = out.data_ptr<float>();
  const int64_t columns = x.size(1);
  for (int64_t i = 0; i < x.size(0); ++i) {
    float most = from[i * columns];
    for (int64_t j = 1; j < columns; ++j) most = std::max(most, from[i * columns + j]);
    for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = 2 * from[i * columns + j] - most;
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x):
        return own.run(x)
