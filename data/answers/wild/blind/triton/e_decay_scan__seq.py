import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def ema_kernel(x_ptr, h0_ptr, decay_ptr, out_ptr, last_ptr, T, D, BLOCK_D: tl.constexpr):
    b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = d < D
    a = tl.sigmoid(tl.load(decay_ptr + d, mask=mask, other=0.0))
    h = tl.load(h0_ptr + b * D + d, mask=mask, other=0.0)
    base = b * T * D + d
    for t in range(T):
        x = tl.load(x_ptr + base, mask=mask, other=0.0)
        h = a * h + (1.0 - a) * x
        tl.store(out_ptr + base, h, mask=mask)
        base += D
    tl.store(last_ptr + b * D + d, h, mask=mask)

class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.logit_decay = nn.Parameter(torch.randn(dim))

    def forward(self, x, h0):
        x = x.contiguous()
        h0 = h0.contiguous()
        B, T, D = x.shape
        out = torch.empty_like(x)
        last = torch.empty_like(h0)
        BLOCK_D = 64
        ema_kernel[(B, triton.cdiv(D, BLOCK_D))](x, h0, self.logit_decay, out, last, T, D, BLOCK_D=BLOCK_D, num_warps=2)
        return out, last
