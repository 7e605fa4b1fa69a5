import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 64}, num_warps=2),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def linear_kernel(
    x_ptr, w_ptr, b_ptr, out_ptr,
    M, N, K, scale,
    stride_xm, stride_xk, stride_wn, stride_wk, stride_om, stride_on,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """out = relu(x @ w.T + b) * scale"""
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        mask_k = k * BLOCK_K + offs_k < K
        x = tl.load(
            x_ptr + offs_m[:, None] * stride_xm + (k * BLOCK_K + offs_k)[None, :] * stride_xk,
            mask=(offs_m[:, None] < M) & mask_k[None, :], other=0.0,
        )
        w = tl.load(
            w_ptr + offs_n[None, :] * stride_wn + (k * BLOCK_K + offs_k)[:, None] * stride_wk,
            mask=(offs_n[None, :] < N) & mask_k[:, None], other=0.0,
        )
        acc += tl.dot(x, w, input_precision="ieee")
    acc += tl.load(b_ptr + offs_n, mask=offs_n < N, other=0.0)[None, :]
    acc = tl.where(acc > 0, acc, 0.0) * scale
    tl.store(
        out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on, acc,
        mask=(offs_m[:, None] < M) & (offs_n[None, :] < N),
    )


def linear_relu(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, scale: float) -> torch.Tensor:
    assert x.shape[1] == w.shape[1], "incompatible dimensions"
    M, K = x.shape
    N, _ = w.shape
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]), triton.cdiv(N, META["BLOCK_N"]))
    linear_kernel[grid](
        x, w, b, out, M, N, K, scale,
        x.stride(0), x.stride(1), w.stride(0), w.stride(1), out.stride(0), out.stride(1),
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)

    def forward(self, x, scale):
        return linear_relu(x.contiguous(), self.linear.weight, self.linear.bias, scale)
