import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


def _zero_acc(nargs):
    nargs["acc_ptr"].zero_()


@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 64, "BK": 32, "SPLIT_K": 1}, num_warps=4, num_stages=3, pre_hook=_zero_acc),
        triton.Config({"BM": 32, "BN": 64, "BK": 32, "SPLIT_K": 4}, num_warps=4, num_stages=3, pre_hook=_zero_acc),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def gemm_splitk(
    x_ptr, w_ptr, acc_ptr,
    M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    pid_k = tl.program_id(2)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(pid_k * BK, K, BK * SPLIT_K):
        rk = k0 + tl.arange(0, BK)
        a = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(w_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
        acc += tl.dot(a, b)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.atomic_add(acc_ptr + rm[:, None] * N + rn[None, :], acc, mask=mask)


@triton.jit
def bias_gelu(acc_ptr, b_ptr, y_ptr, total, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    v = tl.load(acc_ptr + offs, mask=mask, other=0.0)
    v += tl.load(b_ptr + offs % N, mask=mask, other=0.0).to(tl.float32)
    v = 0.5 * v * (1.0 + libdevice.erf(v * 0.7071067811865476))
    tl.store(y_ptr + offs, v.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.fc = nn.Linear(in_features, out_features).half()

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.fc.out_features
        acc = torch.empty((M, N), device=x.device, dtype=torch.float32)  # cleared by the pre_hook
        y = torch.empty((M, N), device=x.device, dtype=torch.float16)
        grid = lambda m: (triton.cdiv(M, m["BM"]), triton.cdiv(N, m["BN"]), m["SPLIT_K"])
        gemm_splitk[grid](x, self.fc.weight, acc, M, N, K)
        bias_gelu[(triton.cdiv(M * N, 1024),)](acc, self.fc.bias, y, M * N, N, BLOCK=1024)
        return y
