# verdict: correct ok
# Two passes over a row that is held in registers.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, out_ptr, n, taken, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < taken, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / taken
    gap = tl.where(cols < taken, x - mean, 0.0)
    tl.store(
        out_ptr + row, tl.sqrt(tl.sum(gap * gap, axis=0) / (taken - 1)).to(out_ptr.dtype.element_ty)
    )


class ModelNew(nn.Module):
    def forward(self, x):
        b, n = x.shape
        out = torch.empty(b, device=x.device, dtype=x.dtype)
        rows[(b,)](x, out, n, n, BLOCK=triton.next_power_of_2(n))
        return out
