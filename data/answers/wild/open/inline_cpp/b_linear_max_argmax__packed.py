import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cpp_code = '''
#include <torch/extension.h>
#include <vector>

std::vector<at::Tensor> linear_max(at::Tensor input, at::Tensor weight, at::Tensor bias) {
  TORCH_CHECK_EQ(input.dim(), 2);
  TORCH_CHECK_EQ(input.size(1), weight.size(1));
  auto values = at::empty({input.size(0)}, input.options());
  auto indices = at::empty({input.size(0)}, input.options().dtype(at::kLong));
  indices.fill_(0);

  auto x = input.packed_accessor64<float, 2>();
  auto w = weight.packed_accessor64<float, 2>();
  auto b = bias.packed_accessor64<float, 1>();
  auto v = values.accessor<float, 1>();
  auto ix = indices.accessor<int64_t, 1>();

  for (int64_t r = 0; r < x.size(0); ++r) {
    float best = 0.f;
    int64_t where = -1;
    for (int64_t c = 0; c < w.size(0); ++c) {
      float score = 0.f;
      for (int64_t k = 0; k < x.size(1); ++k) score += x[r][k] * w[c][k];
      score += b[c];
      if (where < 0 || score > best) {
        best = score;
        where = c;
      }
    }
    v[r] = best;
    ix[r] = where;
  }
  return {values, indices};
}
'''

linear_max_ext = load_inline(name='linear_max_packed', cpp_sources=cpp_code, functions=['linear_max'])


class ModelNew(nn.Module):
    def __init__(self, in_features, classes):
        super().__init__()
        self.fc = nn.Linear(in_features, classes)

    def forward(self, x):
        values, indices = linear_max_ext.linear_max(x, self.fc.weight, self.fc.bias)
        return values, indices
