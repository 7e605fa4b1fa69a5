import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _add_ln_fwd(X, R, W, B, Y, S, N, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(X + row * N + cols, mask=mask, other=0.0)
    r = tl.load(R + row * N + cols, mask=mask, other=0.0)
    s = x + r                       # half addition, as the reference does
    tl.store(S + row * N + cols, s, mask=mask)
    s = s.to(tl.float32)
    mean = tl.sum(s, axis=0) / N
    d = tl.where(mask, s - mean, 0.0)
    var = tl.sum(d * d, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(B + cols, mask=mask, other=0.0).to(tl.float32)
    y = d * rstd * w + b
    tl.store(Y + row * N + cols, y.to(tl.float16), mask=mask)


class AddLayerNormFn(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x, residual, weight, bias, eps):
        x = x.contiguous()
        residual = residual.contiguous()
        N = x.shape[-1]
        M = x.numel() // N
        y = torch.empty_like(x)
        s = torch.empty_like(x)
        BLOCK_N = triton.next_power_of_2(N)
        num_warps = min(max(BLOCK_N // 256, 1), 8)
        _add_ln_fwd[(M,)](x, residual, weight, bias, y, s, N, eps, BLOCK_N=BLOCK_N, num_warps=num_warps)
        return y, s

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, dy, ds):
        raise NotImplementedError("inference only")


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((1.0 + 0.1 * torch.randn(width)).half())
        self.bias = nn.Parameter((0.1 * torch.randn(width)).half())

    def forward(self, x, residual):
        return AddLayerNormFn.apply(x, residual, self.weight, self.bias, self.eps)
