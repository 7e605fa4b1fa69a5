import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from triton.language.extra import libdevice
import time

INV_SQRT2 = 0.7071067811865476


@triton.jit
def gelu_erf(x, c: tl.constexpr = INV_SQRT2):
    return 0.5 * x * (1.0 + libdevice.erf(x * c))


@triton.jit
def linear_gelu_kernel(
    x_ptr, w_ptr, bias_ptr, out_ptr,
    M, N, K,
    stride_xm, stride_xk,
    stride_wn, stride_wk,
    stride_om, stride_on,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    UNROLL: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, K, BLOCK_K * UNROLL):
        for u in tl.static_range(UNROLL):
            offs_k = k0 + u * BLOCK_K + tl.arange(0, BLOCK_K)
            x = tl.load(
                x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk,
                mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0,
            )
            # weight is [N, K]; load it already transposed
            w = tl.load(
                w_ptr + offs_n[None, :] * stride_wn + offs_k[:, None] * stride_wk,
                mask=(offs_n[None, :] < N) & (offs_k[:, None] < K), other=0.0,
            )
            acc += tl.dot(x, w, allow_tf32=False)

    bias = tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0)
    acc = gelu_erf(acc + bias[None, :])
    tl.store(
        out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on,
        acc,
        mask=(offs_m[:, None] < M) & (offs_n[None, :] < N),
    )


class ModelNew(nn.Module):
    """Linear + GELU, the GELU fused in the GEMM epilogue."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.fc = nn.Linear(in_features, out_features)

    def forward(self, x):
        if not x.is_cuda:
            return F.gelu(self.fc(x))
        x = x.contiguous()
        weight, bias = self.fc.weight, self.fc.bias
        M, K = x.shape
        N = weight.shape[0]
        out = torch.empty((M, N), device=x.device, dtype=x.dtype)
        BLOCK_M, BLOCK_N, BLOCK_K = 32, 64, 32
        grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
        linear_gelu_kernel[grid](
            x, weight, bias, out, M, N, K,
            x.stride(0), x.stride(1), weight.stride(0), weight.stride(1), out.stride(0), out.stride(1),
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, UNROLL=2, num_warps=4,
        )
        return out
