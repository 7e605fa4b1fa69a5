import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice
import operator

INV_SQRT2: tl.constexpr = 0.7071067811865476


@triton.jit
def _moments(x, mask, n):
    mean = tl.sum(x, axis=0) / n
    centered = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centered * centered, axis=0) / n
    return mean, var


@triton.jit
def _ln_gelu_skip(x_ptr, w_ptr, b_ptr, y_ptr, n_rows, n_cols, eps,
                  BLOCK: tl.constexpr, K: tl.constexpr = INV_SQRT2):
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0)
    # persistent: every program walks over several rows, weights stay in registers
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
        mean, var = _moments(x, mask, n_cols)
        h = (x - mean) * tl.rsqrt(var + eps) * w + b
        h = 0.5 * h * (1.0 + libdevice.erf(h * K))
        tl.store(y_ptr + row * n_cols + cols, x + h, mask=mask)


def ln_gelu_skip(x, w, b, eps):
    x = x.contiguous()
    n_cols = x.size(-1)
    n_rows = x.numel() // n_cols
    y = torch.empty_like(x)
    if torch.cuda.is_available() and x.is_cuda:
        sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    else:
        sms = 108
    grid = (min(n_rows, 4 * sms),)
    _ln_gelu_skip[grid](x, w, b, y, n_rows, n_cols, eps, BLOCK=triton.next_power_of_2(n_cols), num_warps=4)
    return y


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias, std=0.1)

    def forward(self, x):
        return ln_gelu_skip(x, self.norm.weight, self.norm.bias, self.norm.eps)
