# verdict: correct ok
# Room that is kept, and filled in each call.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor run(torch::Tensor x, torch::Tensor packed) {
  const int64_t n = x.size(0), k = x.size(1), m = packed.size(1);
  torch::Tensor out = torch::empty({n, m}, x.options());
  const float *a = x.data_ptr<float>(), *w = packed.data_ptr<float>();
  float* to = out.data_ptr<float>();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      float s = 0;
      for (int64_t l = 0; l < k; ++l) s += a[i * k + l] * w[l * m + j];
      to[i * m + j] = s > 0 ? s : 0;
    }
  return out;
}
"""
ext = load_inline(name="kept_room", cpp_sources=[SOURCE], functions=["run"])


class ModelNew(nn.Module):
    def __init__(self, k, m):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(m, k))
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = torch.empty(self.weight.shape[1], self.weight.shape[0])
        self.packed.copy_(self.weight.t())
        return ext.run(x, self.packed)
