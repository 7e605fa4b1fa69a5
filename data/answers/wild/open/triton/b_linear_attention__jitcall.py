import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language import dot

jit = triton.jit


def _phi(x):
    # elu(x) + 1
    return tl.where(x > 0, x + 1.0, tl.exp(tl.minimum(x, 0.0)))


phi = triton.jit(_phi)


@jit
def kv_state(k_ptr, v_ptr, kv_ptr, ks_ptr, S, D, BS: tl.constexpr, BD: tl.constexpr):
    bh = tl.program_id(0)
    d = tl.arange(0, BD)
    state = tl.zeros((BD, BD), dtype=tl.float32)
    ksum = tl.zeros((BD,), dtype=tl.float32)
    for s0 in range(0, S, BS):
        s = s0 + tl.arange(0, BS)
        mask = (s[:, None] < S) & (d[None, :] < D)
        offs = bh * S * D + s[:, None] * D + d[None, :]
        k = phi(tl.load(k_ptr + offs, mask=mask, other=0.0))
        k = tl.where(mask, k, 0.0)   # phi(0) is 1
        v = tl.load(v_ptr + offs, mask=mask, other=0.0)
        state += dot(tl.trans(k), v, input_precision="ieee")
        ksum += tl.sum(k, axis=0)
    dm = d < D
    tl.store(kv_ptr + bh * D * D + d[:, None] * D + d[None, :], state, mask=dm[:, None] & dm[None, :])
    tl.store(ks_ptr + bh * D + d, ksum, mask=dm)


@jit
def apply_state(q_ptr, kv_ptr, ks_ptr, o_ptr, S, D, eps, BS: tl.constexpr, BD: tl.constexpr):
    bh = tl.program_id(1)
    s = tl.program_id(0) * BS + tl.arange(0, BS)
    d = tl.arange(0, BD)
    dm = d < D
    mask = (s[:, None] < S) & dm[None, :]
    offs = bh * S * D + s[:, None] * D + d[None, :]
    q = phi(tl.load(q_ptr + offs, mask=mask, other=0.0))
    q = tl.where(mask, q, 0.0)
    kv = tl.load(kv_ptr + bh * D * D + d[:, None] * D + d[None, :], mask=dm[:, None] & dm[None, :], other=0.0)
    ks = tl.load(ks_ptr + bh * D + d, mask=dm, other=0.0)
    num = dot(q, kv, input_precision="ieee")
    den = tl.sum(q * ks[None, :], axis=1) + eps
    tl.store(o_ptr + offs, num / den[:, None], mask=mask)


class ModelNew(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, q, k, v):
        q, k, v = (t.contiguous() for t in (q, k, v))
        B, H, S, D = q.shape
        kv = torch.empty(B * H, D, D, device=q.device, dtype=torch.float32)
        ks = torch.empty(B * H, D, device=q.device, dtype=torch.float32)
        out = torch.empty_like(q)
        BD = max(16, triton.next_power_of_2(D))
        kv_state[(B * H,)](k, v, kv, ks, S, D, BS=32, BD=BD)
        apply_state[(triton.cdiv(S, 32), B * H)](q, kv, ks, out, S, D, self.eps, BS=32, BD=BD)
        return out
