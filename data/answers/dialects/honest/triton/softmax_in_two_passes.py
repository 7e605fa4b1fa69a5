# problem: softmax
import torch
import torch.nn as nn
import triton
import triton.language as tl

CHUNK = 32


@triton.jit
def combine(top, total, other_top, other_total):
    new = tl.maximum(top, other_top)
    return new, total * tl.exp(top - new) + other_total * tl.exp(other_top - new)


@triton.jit
def partial_kernel(x_ptr, work_ptr, n, chunks, BLOCK: tl.constexpr):
    row, chunk = tl.program_id(0), tl.program_id(1)
    at = chunk * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=float("-inf"))
    top = tl.max(x, axis=0)
    tl.store(work_ptr + (row * chunks + chunk) * 2, top)
    tl.store(work_ptr + (row * chunks + chunk) * 2 + 1, tl.sum(tl.exp(x - top), axis=0))


@triton.jit
def scale_kernel(x_ptr, work_ptr, n, chunks, BLOCK: tl.constexpr):
    """In place: every program reads only what it writes itself."""
    row, chunk = tl.program_id(0), tl.program_id(1)
    top = tl.load(work_ptr + row * chunks * 2)
    total = tl.load(work_ptr + row * chunks * 2 + 1)
    for i in range(1, chunks):
        other = work_ptr + (row * chunks + i) * 2
        top, total = combine(top, total, tl.load(other), tl.load(other + 1))
    at = chunk * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n)
    tl.store(x_ptr + row * n + at, tl.exp(x - top) / total, mask=at < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.work = None

    def forward(self, x):
        rows, n = x.shape
        chunks = triton.cdiv(n, CHUNK)
        if self.work is None or self.work.shape[:2] != (rows, chunks):
            self.work = torch.empty(rows, chunks, 2, device=x.device, dtype=torch.float32)
        out = x.clone()
        partial_kernel[(rows, chunks)](out, self.work, n, chunks, BLOCK=CHUNK)
        scale_kernel[(rows, chunks)](out, self.work, n, chunks, BLOCK=CHUNK)
        return out
