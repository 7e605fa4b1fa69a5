import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def max_argmax_lse_kernel(x_ptr, val_ptr, idx_ptr, lse_ptr, N, D, BLOCK_D: tl.constexpr):
    b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = d < D
    base = x_ptr + b * N * D

    best = tl.load(base + d, mask=mask, other=0.0)
    best_i = tl.zeros([BLOCK_D], dtype=tl.int64)
    total = tl.full([BLOCK_D], 1.0, dtype=tl.float32)
    for n in range(1, N):
        x = tl.load(base + n * D + d, mask=mask, other=0.0)
        greater = x > best
        new_best = tl.where(greater, x, best)
        total = total * tl.exp(best - new_best) + tl.exp(x - new_best)
        best_i = tl.where(greater, n, best_i)
        best = new_best

    out = b * D + d
    tl.store(val_ptr + out, best, mask=mask)
    tl.store(idx_ptr + out, best_i, mask=mask)
    tl.store(lse_ptr + out, best + tl.log(total), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        B, N, D = x.shape
        values = torch.empty((B, D), device=x.device, dtype=x.dtype)
        indices = torch.empty((B, D), device=x.device, dtype=torch.int64)
        lse = torch.empty((B, D), device=x.device, dtype=x.dtype)
        BLOCK_D = 128
        grid = (B, triton.cdiv(D, BLOCK_D))
        max_argmax_lse_kernel[grid](x, values, indices, lse, N, D, BLOCK_D=BLOCK_D)
        return values, indices, lse
