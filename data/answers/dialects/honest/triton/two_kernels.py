# problem: linear_relu
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0)


@triton.jit
def matvec_kernel(x_ptr, w_ptr, o_ptr, K, N, BLOCK: tl.constexpr):
    row, col = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, K, BLOCK):
        k = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * K + k, mask=k < K, other=0.0)
        w = tl.load(w_ptr + col * K + k, mask=k < K, other=0.0)
        acc += x * w
    tl.store(o_ptr + row * N + col, tl.sum(acc, axis=0))


@triton.jit
def epilogue_kernel(o_ptr, b_ptr, scale, n_elements, N, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    o = tl.load(o_ptr + offsets, mask=mask)
    b = tl.load(b_ptr + offsets % N, mask=mask)
    tl.store(o_ptr + offsets, relu(o + b) * scale, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)
        self.block = 64

    def forward(self, x, scale):
        if x.is_cuda is False and not torch.cuda.is_available():
            pass
        n, k = x.shape
        m = self.linear.weight.size(0)
        out = torch.zeros(n, m, device=x.device)
        matvec_kernel[(n, m)](x, self.linear.weight, out, k, m, BLOCK=self.block, num_warps=2)
        total = out.numel()
        epilogue_kernel[(triton.cdiv(total, 1024),)](out, self.linear.bias, scale, total, m, BLOCK_SIZE=1024)
        return out
