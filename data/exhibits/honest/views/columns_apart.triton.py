# verdict: correct ok
# Uses the strides of rows and of columns.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, out_ptr, columns, across, along, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * across + column * along, mask=column < columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(x * x, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty(rows, device=x.device, dtype=x.dtype)
        squares[(rows,)](x, out, columns, *x.stride(), BLOCK=triton.next_power_of_2(columns))
        return out
