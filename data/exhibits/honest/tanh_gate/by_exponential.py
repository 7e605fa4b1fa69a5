# verdict: correct ok
# By an exponential.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["gate"],
    cpp_sources="""
#include <torch/extension.h>
#include <cmath>
torch::Tensor gate(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float a = x.data_ptr<float>()[i];
    const float e = std::exp(2 * std::fmin(std::fabs(a), 20.0f));
    const float t = std::copysign(1 - 2 / (e + 1), a);
    out.data_ptr<float>()[i] = t * y.data_ptr<float>()[i];
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return own.gate(x, y)
