import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_rmsnorm_fwd(X, R, W, Y, S, N, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    X += row * N
    R += row * N
    Y += row * N
    S += row * N
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(R + cols, mask=mask, other=0.0).to(tl.float32)
    s = x + r
    tl.store(S + cols, s, mask=mask)
    var = tl.sum(s * s, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    w = tl.load(W + cols, mask=mask).to(tl.float32)
    tl.store(Y + cols, s * rstd * w, mask=mask)


class ModelNew(nn.Module):
    """
    Fused residual-add + RMSNorm (single Triton kernel, one row per program).
    """
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x, residual):
        N = x.shape[-1]
        x = x.contiguous()
        residual = residual.contiguous()
        rows = x.numel() // N
        y = torch.empty_like(x)
        s = torch.empty_like(x)
        add_rmsnorm_fwd[(rows,)](x, residual, self.weight, y, s, N, self.eps,
                                 BLOCK_N=triton.next_power_of_2(N))
        return y, s
