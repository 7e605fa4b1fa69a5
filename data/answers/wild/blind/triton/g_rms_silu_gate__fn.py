import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({
    "BLOCK_D": lambda args: triton.next_power_of_2(args["D"]),
    "num_warps": lambda args: 4 if args["D"] <= 2048 else 8,
})
@triton.jit
def rms_gate_kernel(X, G, W, Y, D, eps, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_D)
    mask = cols < D
    x = tl.load(X + row * D + cols, mask=mask, other=0.0).to(tl.float32)
    # issue the gate load early so that it overlaps the reduction
    g = tl.load(G + row * D + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
    y = x * rstd * w * (g * tl.sigmoid(g))
    tl.store(Y + row * D + cols, y, mask=mask)


class RMSGateFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gate, weight, eps):
        D = x.shape[-1]
        x = x.contiguous()
        gate = gate.contiguous()
        y = torch.empty_like(x)
        rows = x.numel() // D
        rms_gate_kernel[(rows,)](x, gate, weight, y, D, eps)
        return y

    @staticmethod
    def backward(ctx, grad_out):
        raise NotImplementedError("inference only")


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.05 * torch.randn(dim))
        self.eps = eps

    def forward(self, x, gate):
        return RMSGateFn.apply(x, gate, self.weight, self.eps)
