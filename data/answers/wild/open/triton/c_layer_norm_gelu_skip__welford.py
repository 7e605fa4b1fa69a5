import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def welford_combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    frac = n_b / tl.maximum(n, 1.0)
    return mean_a + delta * frac, m2_a + m2_b + delta * delta * n_a * frac, n


@triton.jit
def erf_approx(z):
    # Abramowitz & Stegun 7.1.26, |error| < 1.5e-7
    a = tl.abs(z)
    t = 1.0 / (1.0 + 0.3275911 * a)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    r = 1.0 - poly * tl.exp(-a * a)
    return tl.where(z < 0, -r, r)


@triton.jit
def ln_kernel(
    X, Y, W, B,
    stride,
    N,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(0)
    X += row * stride
    Y += row * stride
    mean = 0.0
    m2 = 0.0
    count = 0.0
    for off in tl.range(0, N, BLOCK_SIZE, num_stages=2):
        cols = off + tl.arange(0, BLOCK_SIZE)
        valid = cols < N
        x = tl.load(X + cols, mask=valid, other=0.0).to(tl.float32)
        bm, bm2, bn = tl.reduce((x, tl.zeros_like(x), valid.to(tl.float32)), 0, welford_combine)
        mean, m2, count = welford_combine(mean, m2, count, bm, bm2, bn)
    rstd = 1.0 / tl.sqrt(m2 / N + eps)
    for off in tl.range(0, N, BLOCK_SIZE, num_stages=2):
        cols = off + tl.arange(0, BLOCK_SIZE)
        valid = cols < N
        x = tl.load(X + cols, mask=valid, other=0.0).to(tl.float32)
        w = tl.load(W + cols, mask=valid, other=0.0)
        b = tl.load(B + cols, mask=valid, other=0.0)
        h = (x - mean) * rstd * w + b
        tl.store(Y + cols, x + 0.5 * h * (1.0 + erf_approx(h * 0.70710678118)), mask=valid)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias, std=0.1)

    def forward(self, input):
        x = input.contiguous().view(-1, input.shape[-1])
        M, N = x.shape
        y = torch.empty_like(x)
        ln_kernel[(M,)](x, y, self.norm.weight, self.norm.bias, x.stride(0), N, self.norm.eps, BLOCK_SIZE=256)
        return y.view(input.shape)
