import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def masked_cumsum_kernel(x_ptr, mask_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    in_bounds = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=in_bounds, other=0.0)
    keep = tl.load(mask_ptr + row * n_cols + cols, mask=in_bounds, other=0)
    x = tl.where(keep != 0, x, 0.0)
    tl.store(out_ptr + row * n_cols + cols, tl.cumsum(x, axis=0), mask=in_bounds)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, mask):
        # move the scanned dim last, scan rows, move back
        xt = x.transpose(self.dim, -1).contiguous()
        mt = mask.transpose(self.dim, -1).contiguous().view(torch.uint8)
        n_cols = xt.shape[-1]
        n_rows = xt.numel() // n_cols
        out = torch.empty_like(xt)
        BLOCK = triton.next_power_of_2(n_cols)
        num_warps = 4 if BLOCK <= 1024 else 8
        masked_cumsum_kernel[(n_rows,)](xt, mt, out, n_cols, BLOCK=BLOCK, num_warps=num_warps)
        return out.transpose(self.dim, -1)
