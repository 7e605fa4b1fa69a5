import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _merge(m1, s1, m2, s2):
    m = tl.maximum(m1, m2)
    s = s1 * tl.exp(m1 - m) + s2 * tl.exp(m2 - m)
    return m, s


@triton.jit
def _tile_stats(tile):
    m = tl.max(tile, axis=0)
    s = tl.sum(tl.exp(tile - m[None, :]), axis=0)
    return m, s


@triton.jit
def logsumexp_dim1_kernel(
    x_ptr, y_ptr, C, T,
    stride_b, stride_c, stride_t,
    BLOCK_C: tl.constexpr, BLOCK_T: tl.constexpr,
):
    b = tl.program_id(1)
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    t_mask = t < T
    x_base = x_ptr + b * stride_b + t[None, :] * stride_t

    m = tl.full((BLOCK_T,), -float("inf"), dtype=tl.float32)
    s = tl.zeros((BLOCK_T,), dtype=tl.float32)
    for c0 in range(0, C, BLOCK_C):
        c = c0 + tl.arange(0, BLOCK_C)
        mask = (c[:, None] < C) & t_mask[None, :]
        tile = tl.load(x_base + c[:, None] * stride_c, mask=mask, other=-float("inf"))
        # lanes outside of T get a harmless finite value
        tile = tl.where(t_mask[None, :], tile, 0.0)
        m2, s2 = _tile_stats(tile)
        m, s = _merge(m, s, m2, s2)

    tl.store(y_ptr + b * T + t, m + tl.log(s), mask=t_mask)


class ModelNew(nn.Module):
    """logsumexp over dim 1 of a (B, C, T) tensor without any transpose."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        B, C, T = x.shape
        y = torch.empty((B, T), device=x.device, dtype=x.dtype)
        BLOCK_T = 64
        BLOCK_C = 32
        logsumexp_dim1_kernel[(triton.cdiv(T, BLOCK_T), B)](
            x, y, C, T, x.stride(0), x.stride(1), x.stride(2),
            BLOCK_C=BLOCK_C, BLOCK_T=BLOCK_T,
        )
        return y
