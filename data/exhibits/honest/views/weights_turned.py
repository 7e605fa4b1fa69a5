# verdict: correct ok
# Multiplies by a transposed matrix as it lies.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["run"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor run(torch::Tensor x, torch::Tensor w) {
  auto out = torch::zeros({x.size(0), w.size(1)}, x.options());
  const float *a = x.data_ptr<float>(), *b = w.data_ptr<float>();
  const int64_t rows = x.size(0), inner = x.size(1), columns = w.size(1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t j = 0; j < columns; ++j)
        out.data_ptr<float>()[i * columns + j] +=
            a[i * inner + k] * b[k * w.stride(0) + j * w.stride(1)];
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x, w):
        return own.run(x, w)
