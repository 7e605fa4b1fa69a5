import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _max_with_index(v1, i1, v2, i2):
    first = (v1 > v2) | ((v1 == v2) & (i1 < i2))
    return tl.where(first, v1, v2), tl.where(first, i1, i2)


@triton.jit
def length_argmax_kernel(x_ptr, len_ptr, val_ptr, idx_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(len_ptr + row)
    cols = tl.arange(0, BLOCK)
    ok = (cols < n_cols) & (cols < length)
    x = tl.load(x_ptr + row * n_cols + cols, mask=ok, other=float("-inf"))
    value, index = tl.reduce((x, cols), 0, _max_with_index)
    tl.store(val_ptr + row, value)
    tl.store(idx_ptr + row, index.to(tl.int64))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, lengths):
        x = x.contiguous()
        rows, cols = x.shape
        values = torch.empty(rows, dtype=x.dtype, device=x.device)
        indices = torch.empty(rows, dtype=torch.long, device=x.device)
        length_argmax_kernel[(rows,)](x, lengths, values, indices, cols, BLOCK=triton.next_power_of_2(cols))
        return values, indices
