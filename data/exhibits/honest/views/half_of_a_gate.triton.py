# verdict: correct ok
# Knows how far the rows of a slice are apart.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu(x_ptr, out_ptr, count, columns, apart, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place // columns * apart + place % columns, mask=place < count)
    tl.store(out_ptr + place, x / (1 + tl.exp(-x)), mask=place < count)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        silu[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), x.shape[1], x.stride(0), BLOCK=256)
        return out
