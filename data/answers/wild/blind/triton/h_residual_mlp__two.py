import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, dim, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < dim
    x = tl.load(x_ptr + row * dim + cols, mask=mask, other=0.0)
    ms = tl.sum(x * x, axis=0) / dim
    y = x * tl.rsqrt(ms + eps) * tl.load(w_ptr + cols, mask=mask, other=0.0)
    tl.store(y_ptr + row * dim + cols, y, mask=mask)


@triton.jit
def linear_kernel(
    a_ptr, w_ptr, res_ptr, c_ptr, M, N, K,
    SQRELU: tl.constexpr, ADD_RES: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    """C = epilogue(A @ W^T); A: (M, K), W: (N, K), all row-major."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :],
                    mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        w = tl.load(w_ptr + rn[None, :] * K + (k + rk)[:, None],
                    mask=(rn[None, :] < N) & ((k + rk)[:, None] < K), other=0.0)
        acc += tl.dot(a, w, allow_tf32=False)
    out_mask = (rm[:, None] < M) & (rn[None, :] < N)
    offs = rm[:, None] * N + rn[None, :]
    if SQRELU:
        acc = tl.maximum(acc, 0.0)
        acc = acc * acc
    if ADD_RES:
        acc += tl.load(res_ptr + offs, mask=out_mask, other=0.0)
    tl.store(c_ptr + offs, acc, mask=out_mask)


class ModelNew(nn.Module):
    def __init__(self, dim, hidden, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.norm_weight = nn.Parameter(torch.rand(dim) + 0.5)
        self.fc1 = nn.Linear(dim, hidden, bias=False)
        self.fc2 = nn.Linear(hidden, dim, bias=False)

    def _linear(self, a, w, res, sqrelu):
        M, K = a.shape
        N = w.shape[0]
        c = torch.empty((M, N), device=a.device, dtype=a.dtype)
        BM, BN, BK = 32, 64, 32
        grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
        # res is a dummy when it isn't used
        linear_kernel[grid](a, w, res if res is not None else a, c, M, N, K,
                            SQRELU=sqrelu, ADD_RES=res is not None, BM=BM, BN=BN, BK=BK)
        return c

    def forward(self, x):
        shape = x.shape
        x2 = x.reshape(-1, shape[-1]).contiguous()
        M, D = x2.shape
        n = torch.empty_like(x2)
        rms_norm_kernel[(M,)](x2, self.norm_weight, n, D, self.eps, BLOCK=triton.next_power_of_2(D))
        h = self._linear(n, self.fc1.weight, None, True)
        y = self._linear(h, self.fc2.weight, x2, False)
        return y.view(shape)
