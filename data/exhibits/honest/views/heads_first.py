# verdict: correct ok
# Reads heads by their strides.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["run"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor run(torch::Tensor x) {
  auto out = torch::empty({x.size(0), x.size(1), x.size(2)}, x.options());
  const float* from = x.data_ptr<float>();
  const int64_t heads = x.size(0), tokens = x.size(1), width = x.size(2);
  const int64_t head = x.stride(0), token = x.stride(1);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < width; ++i) {
      float sum = 0.0f;
      for (int64_t t = 0; t < tokens; ++t)
        out.data_ptr<float>()[(h * tokens + t) * width + i] = sum += from[h * head + t * token + i];
    }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x):
        return own.run(x)
