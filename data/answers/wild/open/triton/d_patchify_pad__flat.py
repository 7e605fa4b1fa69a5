import torch
import torch.nn as nn
import triton
import triton.language as tl
import numpy as np


@triton.jit
def patchify_kernel(
    x_ptr, out_ptr,
    C, H, W, GH, GW,
    n_out,
    P: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    idx = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = idx < n_out

    # idx -> (b, gy, gx, c, py, px)
    px = idx % P
    t = idx // P
    py = t % P
    t = t // P
    c = t % C
    t = t // C
    gx = t % GW
    t = t // GW
    gy = t % GH
    b = t // GH

    y = gy * P + py
    x = gx * P + px
    inside = (y < H) & (x < W)
    val = tl.load(x_ptr + ((b * C + c) * H + y) * W + x, mask=mask & inside, other=0.0)
    tl.store(out_ptr + idx, val, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, patch):
        super().__init__()
        self.patch = patch

    def forward(self, x):
        x = x.contiguous()
        b, c, h, w = x.shape
        p = self.patch
        gh, gw = triton.cdiv(h, p), triton.cdiv(w, p)
        out = torch.empty((b, gh * gw, c * p * p), dtype=x.dtype, device=x.device)
        n = out.numel()
        BLOCK_SIZE = 1024
        patchify_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, c, h, w, gh, gw, n, P=p, BLOCK_SIZE=BLOCK_SIZE)
        return out
