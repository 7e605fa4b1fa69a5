# verdict: correct ok
# The slope as it is told.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky(x_ptr, out_ptr, n, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.where(x > 0, x, x * slope), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, slope):
        out = torch.empty_like(x)
        leaky[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), slope, BLOCK=256)
        return out
