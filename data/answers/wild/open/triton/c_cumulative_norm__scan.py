import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pair_add(a_s, a_q, b_s, b_q):
    return a_s + b_s, a_q + b_q


@triton.jit
def cln_kernel(x_ptr, gamma_ptr, beta_ptr, y_ptr, C, T, eps, BT: tl.constexpr):
    b = tl.program_id(0)
    base = b * C * T
    carry_s = 0.0
    carry_q = 0.0
    for t0 in range(0, T, BT):
        t = t0 + tl.arange(0, BT)
        m = t < T
        # 1) sum over the channels of every frame
        s = tl.zeros([BT], dtype=tl.float32)
        q = tl.zeros([BT], dtype=tl.float32)
        for c in range(0, C):
            v = tl.load(x_ptr + base + c * T + t, mask=m, other=0.0)
            s += v
            q += v * v
        # 2) running sums over time, with the carry of the previous tile
        cs, cq = tl.associative_scan((s, q), 0, pair_add)
        cs += carry_s
        cq += carry_q
        carry_s += tl.sum(s, axis=0)
        carry_q += tl.sum(q, axis=0)
        n = (t + 1).to(tl.float32) * C
        mean = cs / n
        var = tl.maximum(cq / n - mean * mean, 0.0)
        rstd = 1.0 / tl.sqrt(var + eps)
        # 3) normalise
        for c in range(0, C):
            v = tl.load(x_ptr + base + c * T + t, mask=m, other=0.0)
            g = tl.load(gamma_ptr + c)
            be = tl.load(beta_ptr + c)
            tl.store(y_ptr + base + c * T + t, (v - mean) * rstd * g + be, mask=m)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.rand(channels, 1) + 0.5)
        self.beta = nn.Parameter(torch.randn(channels, 1) * 0.1)

    def forward(self, x):
        x = x.contiguous()
        B, C, T = x.shape
        y = torch.empty_like(x)
        cln_kernel[(B,)](x, self.gamma, self.beta, y, C, T, self.eps, BT=256)
        return y
