import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_sub_mish_kernel(
    x_ptr, w_ptr, b_ptr, off_ptr, y_ptr,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    a_blk = tl.make_block_ptr(
        base=x_ptr, shape=(M, K), strides=(K, 1),
        offsets=(pid_m * BLOCK_M, 0), block_shape=(BLOCK_M, BLOCK_K), order=(1, 0),
    )
    # weight is (N, K) row-major, viewed as its transpose (K, N)
    w_blk = tl.make_block_ptr(
        base=w_ptr, shape=(K, N), strides=(1, K),
        offsets=(0, pid_n * BLOCK_N), block_shape=(BLOCK_K, BLOCK_N), order=(0, 1),
    )
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_blk, boundary_check=(0, 1), padding_option="zero")
        w = tl.load(w_blk, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(a, w, input_precision="ieee")
        a_blk = tl.advance(a_blk, (0, BLOCK_K))
        w_blk = tl.advance(w_blk, (BLOCK_K, 0))

    n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    n_mask = n < N
    shift = tl.load(b_ptr + n, mask=n_mask, other=0.0) - tl.load(off_ptr + n, mask=n_mask, other=0.0)
    z = acc + shift[None, :]
    e = tl.exp(tl.minimum(z, 20.0))
    g = e * (e + 2.0)
    z = z * g / (g + 2.0)

    y_blk = tl.make_block_ptr(
        base=y_ptr, shape=(M, N), strides=(N, 1),
        offsets=(pid_m * BLOCK_M, pid_n * BLOCK_N), block_shape=(BLOCK_M, BLOCK_N), order=(1, 0),
    )
    tl.store(y_blk, z, boundary_check=(0, 1))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in, _ = nn.init._calculate_fan_in_and_fan_out(self.weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        nn.init.uniform_(self.bias, -bound, bound)
        self.register_buffer("offset", torch.randn(out_features) * 0.2)

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.weight.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
        linear_sub_mish_kernel[grid](
            x, self.weight, self.bias, self.offset, y, M, N, K,
            BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, num_warps=4, num_stages=2,
        )
        return y
