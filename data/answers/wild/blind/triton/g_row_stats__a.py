import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_stats_kernel(x_ptr, max_ptr, idx_ptr, lse_ptr, n_cols, row_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * row_stride + cols, mask=cols < n_cols, other=-float("inf"))
    m, i = tl.max(x, axis=0, return_indices=True)
    s = tl.sum(tl.exp(x - m), axis=0)
    tl.store(max_ptr + row, m)
    tl.store(idx_ptr + row, i.to(tl.int64))
    tl.store(lse_ptr + row, m + tl.log(s))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        assert x.dim() == 2
        x = x.contiguous()
        rows, cols = x.shape
        values = torch.empty(rows, device=x.device, dtype=x.dtype)
        indices = torch.empty(rows, device=x.device, dtype=torch.int64)
        lse = torch.empty(rows, device=x.device, dtype=x.dtype)
        BLOCK = triton.next_power_of_2(cols)
        # more warps for wide rows
        num_warps = 4 if BLOCK <= 1024 else (8 if BLOCK <= 4096 else 16)
        row_stats_kernel[(rows,)](x, values, indices, lse, cols, x.stride(0), BLOCK=BLOCK, num_warps=num_warps)
        return values, indices, lse
