import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _welford_combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    frac = tl.where(n > 0, n_b / n, 0.0)
    return mean_a + delta * frac, m2_a + m2_b + delta * delta * n_a * frac, n


@triton.jit
def row_stats_kernel(x_ptr, mean_ptr, var_ptr, max_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)

    zeros = tl.zeros((BLOCK,), dtype=tl.float32)
    ones = tl.where(mask, 1.0, 0.0)
    mean, m2, cnt = tl.reduce((x, zeros, ones), 0, _welford_combine)
    peak = tl.max(tl.where(mask, x, float("-inf")), axis=0)

    tl.store(mean_ptr + row, mean)
    tl.store(var_ptr + row, m2 / (cnt - 1.0))
    tl.store(max_ptr + row, peak)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        orig = x.shape[:-1]
        x2 = x.reshape(-1, x.shape[-1]).contiguous()
        rows, cols = x2.shape
        mean = torch.empty(rows, device=x.device, dtype=x.dtype)
        var = torch.empty_like(mean)
        peak = torch.empty_like(mean)
        row_stats_kernel[(rows,)](x2, mean, var, peak, cols, BLOCK=triton.next_power_of_2(cols), num_warps=4)
        return mean.view(orig), var.view(orig), peak.view(orig)
