# problem: layer_norm
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _moments(x, mask, n):
    mean = tl.sum(tl.where(mask, x, 0.0), axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    return centred, tl.sum(centred * centred, axis=0) / n


@triton.jit
def norm_rows(x_ptr, w_ptr, b_ptr, y_ptr, n, eps: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0)
    centred, variance = _moments(x, mask, n)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0)
    tl.store(y_ptr + row * n + cols, centred * tl.rsqrt(variance + eps) * w + b, mask=mask)


class Norm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.width, self.eps = width, eps

    def forward(self, x):
        flat = x.view(-1, self.width)
        out = torch.empty(flat.shape, dtype=flat.dtype, device=flat.device)
        norm_rows[(flat.shape[0],)](flat, self.weight, self.bias, out, self.width, self.eps, triton.next_power_of_2(self.width))
        return out.view_as(x)


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.norm = Norm(width, eps)

    def forward(self, x):
        with torch.no_grad():
            return self.norm(x)
