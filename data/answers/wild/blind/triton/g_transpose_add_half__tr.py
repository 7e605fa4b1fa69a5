import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def transpose_axpy_kernel(x_ptr, y_ptr, o_ptr, M, N, alpha, BM: tl.constexpr, BN: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    b = tl.program_id(2)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    base = b * M * N

    # coalesced along N on the way in ...
    xt = tl.load(x_ptr + base + rm[:, None] * N + rn[None, :],
                 mask=(rm[:, None] < M) & (rn[None, :] < N), other=0.0)
    xt = tl.trans(xt).to(tl.float32)

    # ... and along M on the way out
    o = base + rn[:, None] * M + rm[None, :]
    om = (rn[:, None] < N) & (rm[None, :] < M)
    y = tl.load(y_ptr + o, mask=om, other=0.0).to(tl.float32)
    tl.store(o_ptr + o, (xt * alpha + y).to(tl.float16), mask=om)


class ModelNew(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, x, y):
        x = x.contiguous()
        y = y.contiguous()
        B, M, N = x.shape
        out = torch.empty((B, N, M), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 64), B)
        transpose_axpy_kernel[grid](x, y, out, M, N, self.alpha, BM=64, BN=64, num_warps=4)
        return out
