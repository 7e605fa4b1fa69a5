import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.constexpr_function
def qmin(bits):
    return -(2 ** (bits - 1))


@triton.constexpr_function
def qmax(bits):
    return 2 ** (bits - 1) - 1


@triton.jit
def requant_kernel(x_ptr, scale_ptr, q_ptr, n, C, inv_scale, zero_point, BITS: tl.constexpr, BLOCK: tl.constexpr):
    LO: tl.constexpr = qmin(BITS)
    HI: tl.constexpr = qmax(BITS)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0)
    s = tl.load(scale_ptr + offs % C, mask=mask, other=0.0)
    f = x.to(tl.float32) * s
    f = tl.where(f > 0, f, f * 0.125)
    # rint rounds halfway cases to even, as torch.round does
    q = libdevice.rint(f * inv_scale) + zero_point
    q = tl.minimum(tl.maximum(q, LO), HI)
    tl.store(q_ptr + offs, q.to(tl.int8), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, out_scale, zero_point):
        super().__init__()
        self.register_buffer("in_scale", torch.rand(channels) * 0.05 + 0.01)
        self.inv_scale = 1.0 / out_scale
        self.zero_point = zero_point

    def forward(self, x):
        x = x.contiguous()
        q = torch.empty_like(x)
        n = x.numel()
        BLOCK = 1024
        requant_kernel[(triton.cdiv(n, BLOCK),)](
            x, self.in_scale, q, n, x.shape[-1],
            self.inv_scale, float(self.zero_point),
            BITS=8, BLOCK=BLOCK,
        )
        return q
