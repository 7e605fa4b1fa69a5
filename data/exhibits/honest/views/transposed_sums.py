# verdict: correct ok
# Reads a transposed view by its strides.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["run"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor run(torch::Tensor x) {
  auto out = torch::empty({x.size(0)}, x.options());
  const float* from = x.data_ptr<float>();
  for (int64_t i = 0; i < x.size(0); ++i) {
    float s = 0.0f;
    for (int64_t j = 0; j < x.size(1); ++j)
      s += std::max(from[i * x.stride(0) + j * x.stride(1)], 0.0f);
    out.data_ptr<float>()[i] = s;
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x):
        return own.run(x)
