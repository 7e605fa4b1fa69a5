# verdict: correct ok
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, out_ptr, part_ptr, count_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < size, other=0.0)
    s = tl.sum(x * x)
    tl.store(part_ptr + tl.program_id(0), s)
    before = tl.atomic_add(count_ptr, 1)
    if before == tl.num_programs(0) - 1:
        i = tl.arange(0, 64)
        tl.store(out_ptr, tl.sum(tl.load(part_ptr + i, mask=i < tl.num_programs(0), other=0.0)))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(1, device=x.device)
        programs = triton.cdiv(x.numel(), 512)
        part = torch.empty(programs, device=x.device)
        count = torch.zeros(1, device=x.device, dtype=torch.int32)
        squares[(programs,)](x, out, part, count, x.numel(), BLOCK=512)
        return out
