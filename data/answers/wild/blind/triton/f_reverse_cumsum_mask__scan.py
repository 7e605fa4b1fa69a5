import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def reverse_cumsum_kernel(x_ptr, mask_ptr, out_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK_SIZE)
    valid = offs < n_cols
    # read the row backwards so that a plain inclusive scan gives the suffix sum
    rev = n_cols - 1 - offs
    x = tl.load(x_ptr + row * n_cols + rev, mask=valid, other=0.0)
    m = tl.load(mask_ptr + row * n_cols + rev, mask=valid, other=0)
    x = tl.where(m != 0, x, 0.0)
    acc = tl.cumsum(x, axis=0)
    tl.store(out_ptr + row * n_cols + rev, acc, mask=valid)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x, mask):
        assert x.shape == mask.shape
        x = x.contiguous()
        mask = mask.contiguous().view(torch.uint8)
        out = torch.empty_like(x)
        n_cols = x.size(-1)
        n_rows = x.numel() // n_cols
        reverse_cumsum_kernel[(n_rows,)](x, mask, out, n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
        return out
