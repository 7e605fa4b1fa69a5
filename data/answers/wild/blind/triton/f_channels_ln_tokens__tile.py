import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({"BLOCK_C": lambda args: triton.next_power_of_2(args["C"])})
@triton.jit
def nchw_to_tokens_ln(x_ptr, w_ptr, b_ptr, y_ptr, C, P, eps,
                      BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    b = tl.program_id(1)
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    c = tl.arange(0, BLOCK_C)
    mask = (c[:, None] < C) & (p[None, :] < P)
    # coalesced along p on the way in ...
    x = tl.load(x_ptr + b * C * P + c[:, None] * P + p[None, :], mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / C
    diff = tl.where(mask, x - mean[None, :], 0.0)
    var = tl.sum(diff * diff, axis=0) / C
    rstd = tl.rsqrt(var + eps)
    w = tl.load(w_ptr + c, mask=c < C, other=0.0)
    bias = tl.load(b_ptr + c, mask=c < C, other=0.0)
    y = diff * rstd[None, :] * w[:, None] + bias[:, None]
    # ... and along c on the way out
    out_ptrs = y_ptr + b * C * P + p[:, None] * C + c[None, :]
    tl.store(out_ptrs, tl.trans(y), mask=(p[:, None] < P) & (c[None, :] < C))


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6)

    def forward(self, x):
        x = x.contiguous()
        B, C, H, W = x.shape
        P = H * W
        y = torch.empty((B, P, C), device=x.device, dtype=x.dtype)
        BLOCK_P = 32
        nchw_to_tokens_ln[(triton.cdiv(P, BLOCK_P), B)](
            x, self.norm.weight, self.norm.bias, y, C, P, self.norm.eps, BLOCK_P=BLOCK_P)
        return y
