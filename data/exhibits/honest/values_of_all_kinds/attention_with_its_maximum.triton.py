# verdict: correct ok
# One program for each query, all keys at once.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, out_ptr, T, D, BLOCK: tl.constexpr):
    b, i = tl.program_id(0), tl.program_id(1)
    t, d = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    at = b * T * D + t[:, None] * D + d[None, :]
    inside = (t[:, None] < T) & (d[None, :] < D)
    q = tl.load(q_ptr + (b * T + i) * D + d, mask=d < D, other=0.0)
    k = tl.load(k_ptr + at, mask=inside, other=0.0)
    scale = 1.0 / tl.sqrt(D.to(tl.float32))
    scores = tl.where(t < T, tl.sum(k * q[None, :], axis=1) * scale, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, axis=0))
    weights = weights / tl.sum(weights, axis=0)
    v = tl.load(v_ptr + at, mask=inside, other=0.0)
    out = tl.sum(v * weights[:, None], axis=0)
    tl.store(out_ptr + (b * T + i) * D + d, out, mask=d < D)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        b, t, d = q.shape
        out, block = torch.empty_like(q), triton.next_power_of_2(max(t, d))
        attend[(b, t)](q, k, v, out, t, d, BLOCK=block)
        return out
