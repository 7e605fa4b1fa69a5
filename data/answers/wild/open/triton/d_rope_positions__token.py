import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _rotate(src, dst, token, n_heads, half_dim, c, s, BLOCK_H: tl.constexpr, BLOCK_HALF: tl.constexpr):
    i = tl.arange(0, BLOCK_HALF)
    for h0 in range(0, n_heads, BLOCK_H):
        h = h0 + tl.arange(0, BLOCK_H)
        off = (token * n_heads + h[:, None]) * (2 * half_dim) + i[None, :]
        m = (h[:, None] < n_heads) & (i[None, :] < half_dim)
        x1 = tl.load(src + off, mask=m, other=0.0)
        x2 = tl.load(src + off + half_dim, mask=m, other=0.0)
        tl.store(dst + off, x1 * c[None, :] - x2 * s[None, :], mask=m)
        tl.store(dst + off + half_dim, x2 * c[None, :] + x1 * s[None, :], mask=m)


@triton.jit
def rope_kernel(q_ptr, k_ptr, pos_ptr, cos_ptr, sin_ptr, qo_ptr, ko_ptr,
                n_q, n_k, half_dim,
                BLOCK_H: tl.constexpr, BLOCK_HALF: tl.constexpr):
    token = tl.program_id(0)
    p = tl.load(pos_ptr + token)
    i = tl.arange(0, BLOCK_HALF)
    c = tl.load(cos_ptr + p * half_dim + i, mask=i < half_dim, other=0.0)
    s = tl.load(sin_ptr + p * half_dim + i, mask=i < half_dim, other=0.0)
    _rotate(q_ptr, qo_ptr, token, n_q, half_dim, c, s, BLOCK_H, BLOCK_HALF)
    _rotate(k_ptr, ko_ptr, token, n_k, half_dim, c, s, BLOCK_H, BLOCK_HALF)


class ModelNew(nn.Module):
    def __init__(self, half_dim, max_pos):
        super().__init__()
        inv = 10000.0 ** (-torch.arange(half_dim).float() / half_dim)
        angles = torch.arange(max_pos).float()[:, None] * inv[None, :]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, q, k, pos):
        q = q.contiguous(); k = k.contiguous(); pos = pos.contiguous()
        q_out, k_out = torch.empty_like(q), torch.empty_like(k)
        half = self.cos.shape[1]
        rope_kernel[(pos.numel(),)](
            q, k, pos, self.cos, self.sin, q_out, k_out,
            q.shape[2], k.shape[2], half,
            BLOCK_H=4, BLOCK_HALF=triton.next_power_of_2(half), num_warps=2,
        )
        return q_out, k_out
