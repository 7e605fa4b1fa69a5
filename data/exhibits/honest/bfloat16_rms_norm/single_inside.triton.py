# verdict: correct ok
# Float32 inside.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0).to(tl.float32)
    seen = columns
    square = tl.sum(tl.where(column < seen, x * x, 0.0), 0) / seen
    tl.store(out_ptr + row * columns + column, x / tl.sqrt(square + 1e-5), mask=column < columns)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        columns = x.shape[1]
        norm[(x.shape[0],)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
        return out
