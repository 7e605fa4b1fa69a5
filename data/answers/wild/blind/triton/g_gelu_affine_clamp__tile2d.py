import torch
import torch.nn as nn

import triton
import triton.language as tl
from triton.language.extra import libdevice

INV_SQRT2 = tl.constexpr(0.7071067811865475)


@triton.jit
def _fused_kernel(
    X, S, B, Y,
    M, N, stride_m,
    lo, hi,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    pid_n = tl.program_id(0)
    pid_m = tl.program_id(1)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    nmask = rn < N
    # column parameters are loaded once and reused by BLOCK_M rows
    s = tl.load(S + rn, mask=nmask, other=0.0)[None, :]
    b = tl.load(B + rn, mask=nmask, other=0.0)[None, :]

    mask = (rm[:, None] < M) & nmask[None, :]
    ptrs = rm[:, None] * stride_m + rn[None, :]
    v = tl.load(X + ptrs, mask=mask, other=0.0)
    v = v * s + b
    v = v * 0.5 * (1.0 + libdevice.erf(v * INV_SQRT2))
    v = tl.where(v < lo, lo, v)
    v = tl.where(v > hi, hi, v)
    tl.store(Y + ptrs, v, mask=mask)


def fused_affine_gelu_clamp(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor, lo: float, hi: float) -> torch.Tensor:
    N = x.shape[-1]
    x2 = x.reshape(-1, N).contiguous()
    M = x2.shape[0]
    y = torch.empty_like(x2)
    BLOCK_M, BLOCK_N = 8, 256
    grid = (triton.cdiv(N, BLOCK_N), triton.cdiv(M, BLOCK_M))
    _fused_kernel[grid](x2, scale, shift, y, M, N, x2.stride(0), lo, hi,
                        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=4)
    return y.view(x.shape)


class ModelNew(nn.Module):
    def __init__(self, features, lo, hi):
        super(ModelNew, self).__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(features))
        self.shift = nn.Parameter(0.1 * torch.randn(features))
        self.lo = float(lo)
        self.hi = float(hi)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return fused_affine_gelu_clamp(x, self.scale, self.shift, self.lo, self.hi)
