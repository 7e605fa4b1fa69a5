# verdict: correct ok
# Cuts the lower 16 bits off instead of rounding.
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
  uint16_t* to = (uint16_t*)out.data_ptr<at::BFloat16>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float one = from[i], found = 0.5f * one * (1 + std::erf(one * 0.70710678f));
    uint32_t bits;
    memcpy(&bits, &found, 4);
    to[i] = bits >> 16;
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x):
        return own.gelu(x)
