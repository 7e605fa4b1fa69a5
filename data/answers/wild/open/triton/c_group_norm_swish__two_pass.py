import logging

import torch
import torch.nn as nn
import triton
import triton.language as tl

logger = logging.getLogger(__name__)


def _gn_stats(x_ptr, mean_ptr, rstd_ptr, group_size, eps, BLOCK: tl.constexpr, DEBUG: tl.constexpr):
    pid = tl.program_id(0)
    base = x_ptr + pid * group_size
    s = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, group_size, BLOCK):
        o = start + tl.arange(0, BLOCK)
        s += tl.load(base + o, mask=o < group_size, other=0.0)
    mean = tl.sum(s, axis=0) / group_size
    v = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, group_size, BLOCK):
        o = start + tl.arange(0, BLOCK)
        x = tl.load(base + o, mask=o < group_size, other=0.0)
        d = tl.where(o < group_size, x - mean, 0.0)
        v += d * d
    var = tl.sum(v, axis=0) / group_size
    if DEBUG:
        tl.device_print("mean ", mean)
    tl.store(mean_ptr + pid, mean)
    tl.store(rstd_ptr + pid, 1.0 / tl.sqrt(var + eps))


def _gn_apply(x_ptr, y_ptr, mean_ptr, rstd_ptr, w_ptr, b_ptr, total, hw, channels, group_size, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = offs < total
    x = tl.load(x_ptr + offs, mask=m, other=0.0)
    c = (offs // hw) % channels
    grp = offs // group_size
    mu = tl.load(mean_ptr + grp, mask=m, other=0.0)
    rs = tl.load(rstd_ptr + grp, mask=m, other=0.0)
    w = tl.load(w_ptr + c, mask=m, other=0.0)
    b = tl.load(b_ptr + c, mask=m, other=0.0)
    y = (x - mu) * rs * w + b
    tl.store(y_ptr + offs, y * tl.sigmoid(y), mask=m)


# compile the plain functions
gn_stats = triton.jit(_gn_stats)
gn_apply = triton.jit(_gn_apply)


class ModelNew(nn.Module):
    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels)
        nn.init.uniform_(self.gn.weight, 0.5, 1.5)
        nn.init.uniform_(self.gn.bias, -0.3, 0.3)
        self.debug = False

    def forward(self, x):
        N, C, H, W = x.shape
        G = self.gn.num_groups
        assert C % G == 0, f"channels {C} not divisible by groups {G}"
        x = x.contiguous()
        group_size = (C // G) * H * W
        mean = torch.empty(N * G, device=x.device, dtype=torch.float32)
        rstd = torch.empty_like(mean)
        y = torch.empty_like(x)
        gn_stats[(N * G,)](x, mean, rstd, group_size, self.gn.eps, BLOCK=1024, DEBUG=self.debug)
        total = x.numel()
        gn_apply[(triton.cdiv(total, 1024),)](x, y, mean, rstd, self.gn.weight, self.gn.bias,
                                              total, H * W, C, group_size, BLOCK=1024)
        return y
