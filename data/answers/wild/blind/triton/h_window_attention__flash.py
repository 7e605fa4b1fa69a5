import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _swa_fwd(
    Q, K, V, Out,
    sm_scale,
    stride_h, stride_s, stride_d,
    S, D, WINDOW,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    base = off_hz * stride_h

    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    d_mask = offs_d < D

    q = tl.load(Q + base + offs_m[:, None] * stride_s + offs_d[None, :] * stride_d,
                mask=(offs_m[:, None] < S) & d_mask[None, :], other=0.0)

    m_i = tl.full((BLOCK_M,), -1.0e30, dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)

    # only the key blocks which some query of this tile can see
    lo = tl.maximum(start_m * BLOCK_M - WINDOW + 1, 0)
    lo = (lo // BLOCK_N) * BLOCK_N
    hi = tl.minimum((start_m + 1) * BLOCK_M, S)
    for start_n in range(lo, hi, BLOCK_N):
        n = start_n + offs_n
        k = tl.load(K + base + n[None, :] * stride_s + offs_d[:, None] * stride_d,
                    mask=(n[None, :] < S) & d_mask[:, None], other=0.0)
        qk = tl.dot(q, k, allow_tf32=False) * sm_scale
        keep = (n[None, :] <= offs_m[:, None]) & (offs_m[:, None] - n[None, :] < WINDOW) & (n[None, :] < S)
        qk = tl.where(keep, qk, -1.0e30)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.where(keep, tl.exp(qk - m_new[:, None]), 0.0)
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(V + base + n[:, None] * stride_s + offs_d[None, :] * stride_d,
                    mask=(n[:, None] < S) & d_mask[None, :], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p, v, allow_tf32=False)
        m_i = m_new

    l_i = tl.where(l_i == 0.0, 1.0, l_i)
    acc = acc / l_i[:, None]
    tl.store(Out + base + offs_m[:, None] * stride_s + offs_d[None, :] * stride_d, acc,
             mask=(offs_m[:, None] < S) & d_mask[None, :])


class ModelNew(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        B, H, S, D = q.shape
        o = torch.empty_like(q)
        BLOCK_M = 32
        BLOCK_N = 32
        BLOCK_D = max(16, triton.next_power_of_2(D))
        grid = (triton.cdiv(S, BLOCK_M), B * H)
        _swa_fwd[grid](
            q, k, v, o, 1.0 / math.sqrt(D),
            q.stride(1), q.stride(2), q.stride(3),
            S, D, self.window,
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D,
            num_warps=4, num_stages=2,
        )
        return o
