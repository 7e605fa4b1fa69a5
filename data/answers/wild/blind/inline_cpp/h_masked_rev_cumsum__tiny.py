import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

m = load_inline(
    name="h_rev_cumsum_cpu",
    cpp_sources=r"""
torch::Tensor rev_cumsum(torch::Tensor r, torch::Tensor alive) {
  r = r.contiguous(); alive = alive.contiguous();
  auto out = torch::empty_like(r);
  const int64_t T = r.size(1);
  for (int64_t b = 0; b < r.size(0); ++b) {
    const float* rp = r.data_ptr<float>() + b * T;
    const bool* ap = alive.data_ptr<bool>() + b * T;
    float* op = out.data_ptr<float>() + b * T;
    double s = 0;
    for (int64_t t = T - 1; t >= 0; --t) {
      if (ap[t]) s += rp[t];
      op[t] = (float)s;
    }
  }
  return out;
}
""",
    functions=["rev_cumsum"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, rewards, alive):
        return m.rev_cumsum(rewards, alive)
