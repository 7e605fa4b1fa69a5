# verdict: correct ok
# Reads a transposed view by its strides.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def normalise(x_ptr, out_ptr, columns, across, along, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < columns
    x = tl.load(x_ptr + row * across + column * along, mask=inside, other=0.0)
    tl.store(out_ptr + row * columns + column, x / tl.sum(tl.abs(x), 0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        out = torch.empty((rows, columns), device=x.device, dtype=x.dtype)
        normalise[(rows,)](
            x, out, columns, x.stride(0), x.stride(1), BLOCK=triton.next_power_of_2(columns)
        )
        return out
