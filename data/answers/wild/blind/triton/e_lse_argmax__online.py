import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lse_argmax_kernel(X, LSE, IDX, stride_row, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row * stride_row

    m = float("-inf")
    s = 0.0
    best = 0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        v = tl.load(X + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        blk_max = tl.max(v, axis=0)
        blk_arg = tl.argmax(v, axis=0) + start
        new_m = tl.maximum(m, blk_max)
        # rescale the running sum
        s = s * tl.exp(m - new_m) + tl.sum(tl.exp(v - new_m), axis=0)
        # strict > keeps the first occurence
        best = tl.where(blk_max > m, blk_arg, best)
        m = new_m

    tl.store(LSE + row, m + tl.log(s))
    tl.store(IDX + row, best)


class ModelNew(nn.Module):
    """Single-pass logsumexp + argmax (online softmax trick): x is read exactly once."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        lead_shape = x.shape[:-1]
        n = x.shape[-1]
        x2 = x.contiguous().view(-1, n)
        lse = torch.empty(x2.shape[0], device=x.device, dtype=x.dtype)
        idx = torch.empty(x2.shape[0], device=x.device, dtype=torch.int64)
        lse_argmax_kernel[(x2.shape[0],)](x2, lse, idx, x2.stride(0), n, BLOCK=1024, num_warps=4)
        return lse.view(lead_shape), idx.view(lead_shape)
