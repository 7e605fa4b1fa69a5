# verdict: correct ok
# Sums of columns first, then all hundred steps.
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline(
    name="own",
    functions=["ranks"],
    cpp_sources="""
#include <torch/extension.h>
#include <vector>
torch::Tensor ranks(torch::Tensor links, torch::Tensor r, int64_t steps) {
  auto out = torch::empty_like(r);
  const int64_t n = r.size(1);
  const float *p = links.data_ptr<float>(), *u = r.data_ptr<float>();
  float* o = out.data_ptr<float>();
  std::vector<float> sums(n), w(n);
  for (int64_t b = 0; b < r.size(0); ++b, p += n * n, u += n, o += n) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) sums[j] += p[i * n + j];
    std::copy(u, u + n, o);
    for (int64_t step = 0; step < steps; ++step) {
      for (int64_t i = 0; i < n; ++i) {
        float z = 0;
        for (int64_t j = 0; j < n; ++j) z += p[i * n + j] / sums[j] * o[j];
        w[i] = 0.85f * z + 0.15f / n;
      }
      std::copy(w.begin(), w.end(), o);
    }
  }
  return out;
}
""",
)


class ModelNew(nn.Module):
    def forward(self, links, r):
        return own.ranks(links, r, 100)
