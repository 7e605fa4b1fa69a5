import torch
import torch.nn as nn
import triton
import triton.language as tl


def get_configs():
    return [
        triton.Config({"BM": 32, "BN": 32, "BK": 32, "GROUP_M": 8}, num_warps=4, num_stages=3),
        triton.Config({"BM": 64, "BN": 32, "BK": 32, "GROUP_M": 8}, num_warps=4, num_stages=3),
        triton.Config({"BM": 64, "BN": 64, "BK": 32, "GROUP_M": 8}, num_warps=4, num_stages=4),
        triton.Config({"BM": 128, "BN": 64, "BK": 32, "GROUP_M": 8}, num_warps=8, num_stages=3),
    ]


@triton.autotune(configs=get_configs(), key=["M", "N", "K"])
@triton.jit
def linear_mish_residual_kernel(
    a_ptr, w_ptr, bias_ptr, c_ptr,
    M, N, K,
    stride_am, stride_ak,
    stride_wn, stride_wk,
    stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    # L2-friendly swizzle
    in_group = GROUP_M * num_n
    group_id = pid // in_group
    first_m = group_id * GROUP_M
    gsz = min(num_m - first_m, GROUP_M)
    pid_m = first_m + (pid % in_group) % gsz
    pid_n = (pid % in_group) // gsz

    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    w_ptrs = w_ptr + rk[:, None] * stride_wk + rn[None, :] * stride_wn

    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        kk = k * BK + rk
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (kk[None, :] < K), other=0.0)
        w = tl.load(w_ptrs, mask=(kk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, w, input_precision="ieee")
        a_ptrs += BK * stride_ak
        w_ptrs += BK * stride_wk

    bias = tl.load(bias_ptr + rn, mask=rn < N, other=0.0)
    y = acc + bias[None, :]

    # tanh(softplus(y)) = (e^2 + 2e) / (e^2 + 2e + 2), e = exp(y); saturates to 1 for y > 20
    e = tl.exp(tl.minimum(y, 20.0))
    t = e * (e + 2.0)
    y = y * (t / (t + 2.0))

    omask = (rm[:, None] < M) & (rn[None, :] < N)
    res = tl.load(a_ptr + rm[:, None] * stride_am + rn[None, :] * stride_ak, mask=omask, other=0.0)
    tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :] * stride_cn, y + res, mask=omask)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        orig_shape = x.shape
        x = x.reshape(-1, orig_shape[-1])
        M, K = x.shape
        w = self.fc.weight
        N = w.shape[0]
        out = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = lambda META: (triton.cdiv(M, META["BM"]) * triton.cdiv(N, META["BN"]),)
        linear_mish_residual_kernel[grid](
            x, w, self.fc.bias, out, M, N, K,
            x.stride(0), x.stride(1), w.stride(0), w.stride(1), out.stride(0), out.stride(1),
        )
        return out.view(orig_shape)
