import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def w8a16_matmul_kernel(
    x_ptr, qw_ptr, scale_ptr, bias_ptr, y_ptr,
    M, N, K,
    stride_xm, stride_wn, stride_ym,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BLOCK_M)
    num_n = tl.cdiv(N, BLOCK_N)
    # L2-friendly ordering
    width = GROUP_M * num_n
    group_id = pid // width
    first_m = group_id * GROUP_M
    group_size = min(num_m - first_m, GROUP_M)
    pid_m = first_m + (pid % width) % group_size
    pid_n = (pid % width) // group_size

    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        rk = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rm[:, None] * stride_xm + rk[None, :],
                    mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        qw = tl.load(qw_ptr + rn[None, :] * stride_wn + rk[:, None],
                     mask=(rn[None, :] < N) & (rk[:, None] < K), other=0)
        # int8 values are exact in fp16, the scale is applied once at the end
        acc = tl.dot(x, qw.to(tl.float16), acc)

    scale = tl.load(scale_ptr + rn, mask=rn < N, other=0.0)
    bias = tl.load(bias_ptr + rn, mask=rn < N, other=0.0)
    y = acc * scale[None, :] + bias[None, :]
    tl.store(y_ptr + rm[:, None] * stride_ym + rn[None, :], y.to(tl.float16),
             mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(out_features) * 0.004 + 0.001)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.qweight.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=torch.float16)
        BM, BN, BK = 32, 32, 64
        grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
        w8a16_matmul_kernel[grid](x, self.qweight, self.scales, self.bias, y,
                                  M, N, K, x.stride(0), self.qweight.stride(0), y.stride(0),
                                  BLOCK_M=BM, BLOCK_N=BN, BLOCK_K=BK, GROUP_M=8)
        return y
