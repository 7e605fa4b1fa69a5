import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(X, W, B, Y, D, eps, BLOCK_D: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_D)
    mask = cols < D
    x = tl.load(X + row * D + cols, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / D
    xc = tl.where(mask, x - mean, 0.0)
    var = tl.sum(xc * xc, axis=0) / D
    y = xc * tl.rsqrt(var + eps)
    w = tl.load(W + cols, mask=mask, other=0.0)
    b = tl.load(B + cols, mask=mask, other=0.0)
    tl.store(Y + row * D + cols, y * w + b, mask=mask)


@triton.jit
def linear_kernel(
    X, W, BIAS, RES, Y,
    M, N, K,
    HAS_GELU: tl.constexpr, HAS_RES: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    """Y = act(X @ W^T + bias) (+ RES); X [M, K], W [N, K] row-major."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + rk
        x = tl.load(X + rm[:, None] * K + k[None, :], mask=(rm[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(W + rn[None, :] * K + k[:, None], mask=(rn[None, :] < N) & (k[:, None] < K), other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    bias = tl.load(BIAS + rn, mask=rn < N, other=0.0)
    acc += bias[None, :]
    if HAS_GELU:
        # exact gelu
        acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    omask = (rm[:, None] < M) & (rn[None, :] < N)
    optr = rm[:, None] * N + rn[None, :]
    if HAS_RES:
        acc += tl.load(RES + optr, mask=omask, other=0.0)
    tl.store(Y + optr, acc, mask=omask)


def _linear(x, w, b, res=None, gelu=False):
    M, K = x.shape
    N = w.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
    linear_kernel[grid](
        x, w, b, res if res is not None else x, y, M, N, K,
        HAS_GELU=gelu, HAS_RES=res is not None, BM=32, BN=64, BK=32, num_warps=4,
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        shape = x.shape
        D = shape[-1]
        x2 = x.contiguous().view(-1, D)
        normed = torch.empty_like(x2)
        layernorm_kernel[(x2.shape[0],)](
            x2, self.norm.weight, self.norm.bias, normed, D, self.norm.eps,
            BLOCK_D=triton.next_power_of_2(D),
        )
        h = _linear(normed, self.fc1.weight, self.fc1.bias, gelu=True)
        y = _linear(h, self.fc2.weight, self.fc2.bias, res=x2)
        return y.view(shape)
