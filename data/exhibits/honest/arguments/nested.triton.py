# verdict: correct ok
# Gives Triton tuples of tensors.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mix(x_ptr, weights, scale_ptr, outs, width, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside, place = column < width, row * width + column
    x = tl.load(x_ptr + place, mask=inside)
    x = x * tl.load(weights[0] + column, mask=inside) + tl.load(weights[1] + column, mask=inside)
    tl.store(outs[0] + place, x, mask=inside)
    tl.store(outs[1] + place, x * tl.load(scale_ptr + row), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x, weights, rows=(0, 1), how="sum", more=None):
        assert how == "sum"
        outs = (torch.empty_like(x), torch.empty_like(x))
        block = triton.next_power_of_2(x.shape[1])
        mix[(x.shape[0],)](x, tuple(weights), more["scale"], outs, x.shape[1], BLOCK=block)
        return {"mixed": outs[0], "state": None, "scaled": outs[1]}
