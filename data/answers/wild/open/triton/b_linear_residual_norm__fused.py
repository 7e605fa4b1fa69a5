import torch
import torch.nn as nn
import triton
import triton.language as tl


# ---------------------------------------------------------------------------
# Kernel 1: y = x + relu(x @ W^T + b)
# ---------------------------------------------------------------------------
@triton.jit
def _linear_relu_res(X, W, B, Y, M, D, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    mm = m < M
    nm = n < D
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in tl.range(0, D, BK, num_stages=2):
        k = k0 + tl.arange(0, BK)
        km = k < D
        a = tl.load(X + m[:, None] * D + k[None, :], mask=mm[:, None] & km[None, :], other=0.0)
        b = tl.load(W + n[:, None] * D + k[None, :], mask=nm[:, None] & km[None, :], other=0.0)
        acc = tl.dot(a, tl.trans(b), acc, input_precision="tf32x3")
    bias = tl.load(B + n, mask=nm, other=0.0)
    acc = tl.maximum(acc + bias[None, :], 0.0)
    mask = mm[:, None] & nm[None, :]
    offs = m[:, None] * D + n[None, :]
    acc += tl.load(X + offs, mask=mask, other=0.0)
    tl.store(Y + offs, acc, mask=mask)


# ---------------------------------------------------------------------------
# Kernel 2: layer norm, one row for a program
# ---------------------------------------------------------------------------
@triton.jit
def _moments(x, mask, n):
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / n
    return centred, var


@triton.jit
def _layer_norm(Y, G, Bt, O, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    y = tl.load(Y + row * D + cols, mask=mask, other=0.0)
    centred, var = _moments(y, mask, D)
    rstd = 1.0 / tl.sqrt(var + eps)
    g = tl.load(G + cols, mask=mask)
    b = tl.load(Bt + cols, mask=mask)
    tl.store(O + row * D + cols, centred * rstd * g + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x):
        x = x.contiguous()
        M, D = x.shape
        y = torch.empty_like(x)
        out = torch.empty_like(x)
        BM = BN = 32
        _linear_relu_res[(triton.cdiv(M, BM), triton.cdiv(D, BN))](
            x, self.fc.weight, self.fc.bias, y, M, D, BM=BM, BN=BN, BK=32)
        _layer_norm[(M,)](y, self.norm.weight, self.norm.bias, out, D, self.norm.eps,
                          BLOCK=triton.next_power_of_2(D))
        return out
