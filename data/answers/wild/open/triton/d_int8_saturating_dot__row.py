import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sat_add_dot_kernel(
    a_ptr, b_ptr, sat_ptr, dot_ptr,
    n_rows, n_cols,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    first = tl.program_id(0) * ROWS
    for i in tl.static_range(ROWS):
        row = first + i
        row_ok = row < n_rows
        base = row * n_cols
        acc = tl.zeros((BLOCK,), dtype=tl.int32)
        for start in range(0, n_cols, BLOCK):
            cols = start + tl.arange(0, BLOCK)
            mask = (cols < n_cols) & row_ok
            a = tl.load(a_ptr + base + cols, mask=mask, other=0).to(tl.int32)
            b = tl.load(b_ptr + base + cols, mask=mask, other=0).to(tl.int32)
            s = tl.minimum(tl.maximum(a + b, -128), 127)
            tl.store(sat_ptr + base + cols, s.to(tl.int8), mask=mask)
            acc += a * b
        total = tl.sum(acc, axis=0)
        tl.store(dot_ptr + row, total.to(tl.int64), mask=row_ok)


def sat_add_dot(a, b):
    assert a.dtype == torch.int8 and b.dtype == torch.int8
    a = a.contiguous()
    b = b.contiguous()
    rows, cols = a.shape
    sat = torch.empty_like(a)
    dots = torch.empty(rows, dtype=torch.int64, device=a.device)
    ROWS = 2
    sat_add_dot_kernel[(triton.cdiv(rows, ROWS),)](a, b, sat, dots, rows, cols, ROWS=ROWS, BLOCK=512)
    return sat, dots


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return sat_add_dot(a, b)
