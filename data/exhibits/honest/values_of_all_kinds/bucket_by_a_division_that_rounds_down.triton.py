# verdict: correct ok
# A shift rounds down.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bucket(a_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr + i, a >> 4, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, a):
        out = torch.empty_like(a)
        bucket[(triton.cdiv(a.numel(), 256),)](a, out, a.numel(), BLOCK=256)
        return out
