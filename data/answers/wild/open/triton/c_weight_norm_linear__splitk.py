import torch
import torch.nn as nn
import triton
import triton.language as tl

Tensor = torch.Tensor


@triton.jit
def row_scale_kernel(v_ptr, g_ptr, s_ptr, K, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    v = tl.load(v_ptr + r * K + o, mask=o < K, other=0.0)
    tl.store(s_ptr + r, tl.load(g_ptr + r) / tl.sqrt(tl.sum(v * v, axis=0)))


@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 32, "BK": 16, "SPLIT_K": 2}),
        triton.Config({"BM": 32, "BN": 32, "BK": 32, "SPLIT_K": 4}),
    ],
    key=["M", "N", "K"],
    reset_to_zero=["c_ptr"],
)
@triton.jit
def splitk_kernel(a_ptr, b_ptr, s_ptr, bias_ptr, c_ptr, M, N, K,
                  BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    pid_k = tl.program_id(2)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(pid_k * BK, K, BK * SPLIT_K):
        rk = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    s = tl.load(s_ptr + rn, mask=rn < N, other=0.0)
    acc = acc * s[None, :]
    if pid_k == 0:
        bias = tl.load(bias_ptr + rn, mask=rn < N, other=0.0)
        acc += bias[None, :]
    tl.atomic_add(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    """Weight-normalised linear, split-K with atomics (small M and N leave SMs idle otherwise)."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.v = nn.Parameter(torch.randn(out_features, in_features) * 0.05)
        self.g = nn.Parameter(torch.rand(out_features) + 0.5)
        self.bias = nn.Parameter(torch.randn(out_features) * 0.1)

    def forward(self, x: Tensor) -> Tensor:
        x = x.contiguous()
        M, K = x.shape
        N = self.v.size(0)
        scale = torch.empty(N, device=x.device, dtype=torch.float32)
        row_scale_kernel[(N,)](self.v, self.g, scale, K, BLOCK=triton.next_power_of_2(K))
        out = torch.zeros((M, N), device=x.device, dtype=torch.float32)
        grid = lambda META: (triton.cdiv(M, META["BM"]), triton.cdiv(N, META["BN"]), META["SPLIT_K"])
        splitk_kernel[grid](x, self.v, scale, self.bias, out, M, N, K)
        return out
