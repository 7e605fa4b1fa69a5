import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _add_ln_kernel(
    X, R, W, B, Y, HOUT,
    stride_row,
    N,
    eps,
    BLOCK_N: tl.constexpr,
):
    row = tl.program_id(0)
    X += row * stride_row
    R += row * stride_row
    Y += row * stride_row
    HOUT += row * stride_row
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N

    x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(R + cols, mask=mask, other=0.0).to(tl.float32)
    h16 = (x + r).to(tl.float16)
    tl.store(HOUT + cols, h16, mask=mask)

    h = h16.to(tl.float32)
    mean = tl.sum(h, axis=0) / N
    diff = tl.where(mask, h - mean, 0.0)
    var = tl.sum(diff * diff, axis=0) / N
    rstd = 1.0 / tl.sqrt(var + eps)

    w = tl.load(W + cols, mask=mask, other=1.0).to(tl.float32)
    b = tl.load(B + cols, mask=mask, other=0.0).to(tl.float32)
    y = diff * rstd * w + b
    tl.store(Y + cols, y.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hidden, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((1.0 + 0.2 * torch.randn(hidden)).half())
        self.bias = nn.Parameter((0.1 * torch.randn(hidden)).half())

    def forward(self, x, residual):
        x = x.contiguous()
        residual = residual.contiguous()
        y = torch.empty_like(x)
        h = torch.empty_like(x)
        N = x.shape[-1]
        M = x.numel() // N
        BLOCK_N = triton.next_power_of_2(N)
        if BLOCK_N > 65536 // x.element_size():
            raise RuntimeError("This layer norm doesn't support feature dim >= 64KB.")
        num_warps = min(max(BLOCK_N // 256, 1), 8)
        _add_ln_kernel[(M,)](
            x, residual, self.weight, self.bias, y, h,
            N, N, self.eps,
            BLOCK_N=BLOCK_N, num_warps=num_warps,
        )
        return y, h
