import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def col_stats_kernel(x_ptr, mean_ptr, var_ptr, max_ptr, R, C, BR: tl.constexpr, BC: tl.constexpr):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    cm = c < C
    s = tl.zeros((BR, BC), dtype=tl.float32)
    mx = tl.full((BR, BC), float("-inf"), dtype=tl.float32)
    for r0 in range(0, R, BR):
        r = r0 + tl.arange(0, BR)
        m = (r[:, None] < R) & cm[None, :]
        v = tl.load(x_ptr + r[:, None] * C + c[None, :], mask=m, other=0.0)
        s += v
        mx = tl.maximum(mx, tl.where(m, v, float("-inf")))
    mean = tl.sum(s, axis=0) / R
    # second pass for the variance (numerically safer than E[x^2]-E[x]^2)
    ss = tl.zeros((BR, BC), dtype=tl.float32)
    for r0 in range(0, R, BR):
        r = r0 + tl.arange(0, BR)
        m = (r[:, None] < R) & cm[None, :]
        v = tl.load(x_ptr + r[:, None] * C + c[None, :], mask=m, other=0.0)
        dlt = tl.where(m, v - mean[None, :], 0.0)
        ss += dlt * dlt
    var = tl.sum(ss, axis=0) / (R - 1)
    tl.store(mean_ptr + c, mean, mask=cm)
    tl.store(var_ptr + c, var, mask=cm)
    tl.store(max_ptr + c, tl.max(mx, axis=0), mask=cm)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        R, C = x.shape
        mean, var, mx = (torch.empty(C, device=x.device, dtype=x.dtype) for _ in range(3))
        BC = 32
        col_stats_kernel[(triton.cdiv(C, BC),)](x, mean, var, mx, R, C, BR=64, BC=BC, num_warps=4)
        return mean, var, mx
