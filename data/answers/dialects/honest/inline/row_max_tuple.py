# problem: row_max
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="row_max_tuple",
    cpp_sources="""
#include <tuple>
std::tuple<torch::Tensor, torch::Tensor> row_max(torch::Tensor x) {
  const auto n = x.size(0), m = x.size(1);
  auto values = torch::empty({n}, x.options());
  auto where = torch::empty({n}, x.options().dtype(torch::kInt64));
  auto* w = where.data_ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.data_ptr<float>() + i * m;
    int64_t best = 0;
    for (int64_t j = 1; j < m; ++j) if (row[j] > row[best]) best = j;
    values.data_ptr<float>()[i] = row[best];
    w[i] = best;
  }
  return std::make_tuple(values, where);
}
""",
    functions=["row_max"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        values, where = ext.row_max(x)
        return values, where
