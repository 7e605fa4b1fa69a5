import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

src = '''
torch::Tensor masked_cumsum(const torch::Tensor& x, const torch::Tensor& mask) {
  TORCH_CHECK(x.dim() == 2 && mask.dim() == 2);
  TORCH_CHECK_EQ(x.size(1), mask.size(1));
  auto out = torch::empty({x.size(0), x.size(1)}, x.options());
  auto xa = x.accessor<float, 2>();
  auto ma = mask.accessor<bool, 2>();
  auto oa = out.accessor<float, 2>();
  for (int64_t r = 0; r < x.size(0); r++) {
    double running = 0.0;   // double accumulator, rounded on store
    for (int64_t c = 0; c < x.size(1); c++) {
      if (ma[r][c]) running += xa[r][c];
      oa[r][c] = static_cast<float>(running);
    }
  }
  return out;
}
'''

mod = load_inline(name='masked_cumsum_cpu', cpp_sources=[src], functions=['masked_cumsum'], verbose=False)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        if self.dim == 0 or self.dim == -2:
            # accessors follow strides, so a view is enough
            return mod.masked_cumsum(x.t(), mask.t()).t()
        return mod.masked_cumsum(x, mask)
