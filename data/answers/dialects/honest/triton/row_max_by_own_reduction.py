# problem: row_max
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def larger(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def in_one_block(x_ptr, value_ptr, where_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf"))
    value, where = tl.reduce((x, cols), 0, larger)
    tl.store(value_ptr + row, value)
    tl.store(where_ptr + row, where.to(tl.int64))


@triton.jit
def in_many_blocks(x_ptr, value_ptr, where_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    where = tl.zeros([BLOCK], tl.int32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf"))
        best, where = larger(best, where, x, cols)
    value, at = tl.reduce((best, where), 0, larger)
    tl.store(value_ptr + row, value)
    tl.store(where_ptr + row, at.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        values = torch.empty(rows, dtype=x.dtype, device=x.device)
        where = torch.empty(rows, dtype=torch.int64, device=x.device)
        if n <= 32:
            in_one_block[(rows,)](x, values, where, n, BLOCK=triton.next_power_of_2(n))
        else:
            in_many_blocks[(rows,)](x, values, where, n, BLOCK=32)
        return values, where
