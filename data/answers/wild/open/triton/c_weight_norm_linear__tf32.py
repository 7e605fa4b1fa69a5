import torch
import torch.nn as nn
import triton
import triton.language as tl


def _clear_output(nargs):
    nargs["y_ptr"].zero_()


_CONFIGS = [
    triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=4, num_stages=3, pre_hook=_clear_output),
    triton.Config({"BM": 64, "BN": 32, "BK": 32}, num_warps=4, num_stages=3, pre_hook=_clear_output),
]


@triton.autotune(configs=_CONFIGS, key=["M", "N", "K"])
@triton.jit
def wn_linear_kernel(
    x_ptr, v_ptr, g_ptr, b_ptr, y_ptr,
    M, N, K,
    sxm, sxk, svn, svk, sym, syn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    sq = tl.zeros((BN,), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        kk = k * BK + rk
        a = tl.load(x_ptr + rm[:, None] * sxm + kk[None, :] * sxk,
                    mask=(rm[:, None] < M) & (kk[None, :] < K), other=0.0)
        b = tl.load(v_ptr + rn[None, :] * svn + kk[:, None] * svk,
                    mask=(rn[None, :] < N) & (kk[:, None] < K), other=0.0)
        acc = tl.dot(a, b, acc, allow_tf32=True)
        sq += tl.sum(b * b, axis=0)      # row norm of v comes along for free
    g = tl.load(g_ptr + rn, mask=rn < N, other=0.0)
    bias = tl.load(b_ptr + rn, mask=rn < N, other=0.0)
    norm = tl.where(rn < N, tl.sqrt(sq), 1.0)
    y = acc * (g / norm)[None, :] + bias[None, :]
    tl.store(y_ptr + rm[:, None] * sym + rn[None, :] * syn, y, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.v = nn.Parameter(torch.randn(out_features, in_features) * 0.05)
        self.g = nn.Parameter(torch.rand(out_features) + 0.5)
        self.bias = nn.Parameter(torch.randn(out_features) * 0.1)

    def forward(self, x):
        M, K = x.shape
        N = self.v.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        wn_linear_kernel[grid](
            x, self.v.data, self.g.data, self.bias.data, y, M, N, K,
            x.stride(0), x.stride(1), self.v.stride(0), self.v.stride(1), y.stride(0), y.stride(1),
        )
        return y
