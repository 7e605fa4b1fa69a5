import time

import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice

HALF = 0.5
SQRT_2_OVER_PI = 0.7978845608028654
COEF = 0.044715


@triton.jit
def _gelu_affine_fwd(
    x_ptr, scale_ptr, bias_ptr, y_ptr,
    n_cols,
    BLOCK: tl.constexpr,
    half: tl.constexpr = HALF,
    k: tl.constexpr = SQRT_2_OVER_PI,
    c: tl.constexpr = COEF,
):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    s = tl.load(scale_ptr + cols, mask=mask, other=0.0)
    b = tl.load(bias_ptr + cols, mask=mask, other=0.0)
    inner = k * (x + c * x * x * x)
    y = half * x * (1.0 + libdevice.tanh(inner)) * s + b
    tl.store(y_ptr + row * n_cols + cols, y, mask=mask)


class GeluAffineFunction(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, input, scale, bias):
        shape = input.shape
        x = input.contiguous().view(-1, shape[-1])
        y = torch.empty_like(x)
        n_rows, n_cols = x.shape
        BLOCK = min(1024, triton.next_power_of_2(n_cols))
        grid = (n_rows, triton.cdiv(n_cols, BLOCK))
        _gelu_affine_fwd[grid](x, scale, bias, y, n_cols, BLOCK=BLOCK, num_warps=4)
        ctx.save_for_backward(input, scale)
        return y.view(shape)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad_out):
        x, scale = ctx.saved_tensors
        u = SQRT_2_OVER_PI * (x + COEF * x ** 3)
        t = torch.tanh(u)
        g = HALF * x * (1 + t)
        dg = HALF * (1 + t) + HALF * x * (1 - t * t) * SQRT_2_OVER_PI * (1 + 3 * COEF * x * x)
        gx = grad_out * scale * dg
        red = tuple(range(x.dim() - 1))
        return gx, (grad_out * g).sum(red), grad_out.sum(red)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(dim) + 0.5)
        self.bias = nn.Parameter(torch.randn(dim) * 0.1)

    def forward(self, input):
        return GeluAffineFunction.apply(input, self.scale, self.bias)
