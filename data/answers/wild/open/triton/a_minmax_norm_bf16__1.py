import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def minmax_norm_kernel(x_ptr, out_ptr, stride, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    row_idx = tl.program_id(0)
    col = tl.arange(0, BLOCK_SIZE)
    mask = col < n_cols
    x = tl.load(x_ptr + row_idx * stride + col, mask=mask, other=0.0).to(tl.float32)
    lo = tl.min(tl.where(mask, x, float("inf")), axis=0)
    hi = tl.max(tl.where(mask, x, float("-inf")), axis=0)
    y = (x - lo) / (hi - lo + eps)
    tl.store(out_ptr + row_idx * stride + col, y.to(tl.bfloat16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty_like(x)
        BLOCK_SIZE = triton.next_power_of_2(cols)
        num_warps = 4
        if BLOCK_SIZE >= 2048:
            num_warps = 8
        if BLOCK_SIZE >= 4096:
            num_warps = 16
        minmax_norm_kernel[(rows,)](x, out, x.stride(0), cols, self.eps, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps)
        return out
