import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool_kernel(x_ptr, m_ptr, sum_ptr, cnt_ptr, lock_ptr, T, D, BT: tl.constexpr, BD: tl.constexpr):
    b = tl.program_id(0)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    d = tl.arange(0, BD)
    dm = d < D
    keep = tl.load(m_ptr + b * T + t, mask=t < T, other=0.0)
    x = tl.load(x_ptr + b * T * D + t[:, None] * D + d[None, :],
                mask=(t[:, None] < T) & dm[None, :], other=0.0).to(tl.float32)
    part = tl.sum(x * keep[:, None], axis=0)
    n = tl.sum(keep, axis=0)
    # one lock per batch row; same scheme as the layer norm backward of the Triton tutorial
    while tl.atomic_cas(lock_ptr + b, 0, 1) == 1:
        pass
    cur = tl.load(sum_ptr + b * D + d, mask=dm, other=0.0)
    tl.store(sum_ptr + b * D + d, cur + part, mask=dm)
    c = tl.load(cnt_ptr + b)
    tl.store(cnt_ptr + b, c + n)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + b, 0)


@triton.jit
def finish_kernel(sum_ptr, cnt_ptr, w_ptr, y_ptr, D, eps, BD: tl.constexpr):
    b = tl.program_id(0)
    d = tl.arange(0, BD)
    dm = d < D
    mean = tl.load(sum_ptr + b * D + d, mask=dm, other=0.0) / tl.maximum(tl.load(cnt_ptr + b), 1.0)
    inv = 1.0 / tl.sqrt(tl.sum(mean * mean, axis=0) / D + eps)
    w = tl.load(w_ptr + d, mask=dm, other=0.0)
    tl.store(y_ptr + b * D + d, (mean * inv * w).to(tl.bfloat16), mask=dm)


class ModelNew(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x, mask):
        x = x.contiguous()
        fmask = mask.to(torch.float32).contiguous()
        B, T, D = x.shape
        sums = torch.zeros((B, D), dtype=torch.float32, device=x.device)
        counts = torch.zeros(B, dtype=torch.float32, device=x.device)
        locks = torch.zeros(B, dtype=torch.int32, device=x.device)
        out = torch.empty((B, D), dtype=torch.bfloat16, device=x.device)
        BD = triton.next_power_of_2(D)
        pool_kernel[(B, triton.cdiv(T, 16))](x, fmask, sums, counts, locks, T, D, BT=16, BD=BD)
        finish_kernel[(B,)](sums, counts, self.weight, out, D, self.eps, BD=BD)
        return out
