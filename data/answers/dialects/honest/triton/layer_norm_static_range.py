# problem: layer_norm
from __future__ import annotations

import torch
import torch.nn as nn
import triton
import triton.language as tl

WIDE: tl.constexpr = tl.constexpr(32)


@triton.jit
def mean_and_rstd(x_ptr, n, eps, PARTS: tl.constexpr):
    total = tl.zeros([WIDE], tl.float32)
    squares = tl.zeros([WIDE], tl.float32)
    for part in tl.static_range(PARTS):
        at = part * WIDE + tl.arange(0, WIDE)
        total += tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    mean = tl.sum(total) / n
    for part in tl.static_range(PARTS):
        at = part * WIDE + tl.arange(0, WIDE)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        squares += tl.where(at < n, (x - mean) * (x - mean), 0.0)
    return mean, tl.math.rsqrt(tl.sum(squares) / n + eps)


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, y_ptr, n: tl.int32, eps: tl.float32, PARTS: tl.constexpr, HAS_BIAS: tl.constexpr = True):
    tl.static_assert(PARTS > 0)
    row = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    mean, rstd = mean_and_rstd(x_ptr + row * n, n, eps, PARTS)
    for part in tl.static_range(PARTS):
        at = part * WIDE + tl.arange(0, WIDE)
        y = (tl.load(x_ptr + row * n + at, mask=at < n) - mean) * rstd * tl.load(w_ptr + at, mask=at < n)
        if HAS_BIAS:
            y += tl.load(b_ptr + at, mask=at < n)
        tl.store(y_ptr + row * n + at, y, mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        b, s, n = x.shape
        layer_norm[(b, s)](x, self.norm.weight, self.norm.bias, y, n, self.norm.eps, PARTS=triton.cdiv(n, 32))
        return y
