import torch, triton
import triton.language as tl
from torch import nn


@triton.jit
def _add(a, b):
    return a + b


@triton.jit
def silu_cumsum_kernel(x_ptr, y_ptr, L, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * L
    y_ptr += row * L
    carry = 0.0
    for start in range(0, L, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < L
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        v = x * tl.sigmoid(x)
        c = tl.associative_scan(v, 0, _add) + carry
        tl.store(y_ptr + offs, c, mask=mask)
        carry += tl.sum(v, axis=0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        L = x.shape[-1]
        silu_cumsum_kernel[(x.numel() // L,)](x, y, L, BLOCK=512)
        return y
