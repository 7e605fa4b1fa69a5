import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b, double scale) {
  TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
  auto n = x.size(0), k = x.size(1), m = w.size(0);
  auto out = torch::empty({n, m}, x.options());
  const float *xp = x.data_ptr<float>(), *wp = w.data_ptr<float>(), *bp = b.data_ptr<float>();
  float* op = out.data_ptr<float>();
  for (int64_t i = 0; i < n; ++i) for (int64_t j = 0; j < m; ++j) {
    float s = bp[j];
    for (int64_t l = 0; l < k; ++l) s += xp[i * k + l] * wp[j * k + l];
    op[i * m + j] = (s > 0 ? s : 0) * scale;
  }
  return out;
}
"""
ext = load_inline(name="fused_ext", cpp_sources=source, functions=["fused"], verbose=False)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)
        self.ext = ext

    def forward(self, x, scale):
        return self.ext.fused(x, self.linear.weight, self.linear.bias, scale)
