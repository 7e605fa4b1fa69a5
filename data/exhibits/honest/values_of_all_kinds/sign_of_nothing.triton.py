# verdict: correct ok
# The sign of zero is zero.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def signs(x_ptr, out_ptr, count_ptr, n, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + j, mask=j < n, other=0.0)
    tl.store(out_ptr + row * n + j, tl.where(x > 0, 1.0, tl.where(x < 0, -1.0, 0.0)), mask=j < n)
    tl.store(count_ptr + row, tl.sum((x > 0).to(tl.int64), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        count = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
        signs[(x.shape[0],)](x, out, count, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out, count
