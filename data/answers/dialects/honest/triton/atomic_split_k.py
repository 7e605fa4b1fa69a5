# problem: linear_relu
import torch
import torch.nn as nn
import triton
import triton.language as tl

torch.backends.cuda.matmul.allow_tf32 = False


@triton.jit
def split_k(x_ptr, w_ptr, o_ptr, N, K, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    row, col, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    k = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * K + k, mask=k < K, other=0.0)
    w = tl.load(w_ptr + col * K + k, mask=k < K, other=0.0)
    tl.atomic_add(o_ptr + row * N + col, tl.sum(x * w))


@triton.jit
def finish(o_ptr, b_ptr, y_ptr, scale, N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, N)
    v = tl.load(o_ptr + row * N + cols) + tl.load(b_ptr + cols)
    tl.store(y_ptr + row * N + cols, tl.where(v > 0, v * scale, 0.0))


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)

    def forward(self, x, scale):
        n, k = x.shape
        sums = torch.zeros((n, 32), device=x.device, dtype=x.dtype)
        out = torch.empty_like(sums)
        split_k[(n, 32, triton.cdiv(k, 64))](x, self.linear.weight, sums, 32, k, SPLIT=2, BLOCK=64)
        finish[(n,)](sums, self.linear.bias, out, scale, N=32)
        return out
