import torch
from torch import nn
from torch.utils import cpp_extension

SRC = r'''
at::Tensor forward(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, double s) {
  auto out = at::empty({x.size(0), w.size(0)}, x.options());
  auto xa = x.accessor<float, 2>();
  auto wa = w.accessor<float, 2>();
  auto ba = b.accessor<float, 1>();
  auto oa = out.accessor<float, 2>();
  for (int64_t i = 0; i < xa.size(0); ++i)
    for (int64_t j = 0; j < wa.size(0); ++j) {
      float sum = ba[j];
      for (int64_t k = 0; k < xa.size(1); ++k) sum += xa[i][k] * wa[j][k];
      oa[i][j] = sum > 0.f ? sum * (float)s : 0.f;
    }
  return out;
}
'''


class FusedOp:
    _module = None

    @classmethod
    def get(cls):
        if cls._module is None:
            cls._module = cpp_extension.load_inline(
                name="fused_op", cpp_sources=SRC, functions="forward", extra_cflags=["-O2"]
            )
        return cls._module


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32, bias=True)
        self.op = FusedOp.get()

    def forward(self, x, scale: float):
        return self.op.forward(x, self.linear.weight, self.linear.bias, scale)
