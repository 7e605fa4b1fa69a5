import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def flash_fwd_kernel(
    Q, K, V, O,
    S, D, qk_scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid_m = tl.program_id(0)
    bh = tl.program_id(1)
    base = bh * S * D

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    dmask = offs_d < D
    q = tl.load(Q + base + offs_m[:, None] * D + offs_d[None, :],
                mask=(offs_m[:, None] < S) & dmask[None, :], other=0.0)
    q = q * qk_scale  # includes log2(e): we work with exp2

    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)

    # causal: nothing to the right of this tile's diagonal
    hi = tl.minimum((pid_m + 1) * BLOCK_M, S)
    for start in range(0, hi, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        nmask = offs_n < S
        k = tl.load(K + base + offs_n[None, :] * D + offs_d[:, None],
                    mask=nmask[None, :] & dmask[:, None], other=0.0)
        v = tl.load(V + base + offs_n[:, None] * D + offs_d[None, :],
                    mask=nmask[:, None] & dmask[None, :], other=0.0)
        qk = tl.dot(q, k, input_precision="ieee")
        qk = tl.where((offs_m[:, None] >= offs_n[None, :]) & nmask[None, :], qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new

    acc = acc / l_i[:, None]
    tl.store(O + base + offs_m[:, None] * D + offs_d[None, :], acc,
             mask=(offs_m[:, None] < S) & dmask[None, :])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        q, k, v = [t.contiguous() for t in (q, k, v)]
        B, H, S, D = q.shape
        o = torch.empty_like(q)
        BLOCK_M = 32
        BLOCK_N = 32
        BLOCK_D = max(16, triton.next_power_of_2(D))
        scale = 1.0 / math.sqrt(D) * 1.4426950408889634
        grid = (triton.cdiv(S, BLOCK_M), B * H)
        flash_fwd_kernel[grid](q, k, v, o, S, D, scale,
                               BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D,
                               num_warps=4, num_stages=2)
        return o
