import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


# The GEMM stays with cuBLAS, which is hard to beat for fp32; what we save is the
# two extra elementwise passes (GELU, scale).
@triton.jit
def gelu_scale_kernel(y_ptr, scale_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < n_cols
    y = tl.load(y_ptr + row * n_cols + col, mask=mask)
    s = tl.load(scale_ptr + col, mask=mask)
    g = y * 0.5 * (1.0 + libdevice.erf(y * 0.70710678118654752440))
    tl.store(out_ptr + row * n_cols + col, g * s, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.rand(out_features) * 2)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        rows, cols = y.shape
        BLOCK = 256
        gelu_scale_kernel[(rows, triton.cdiv(cols, BLOCK))](y, self.scale, out, cols, BLOCK=BLOCK)
        return out
