import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _add(a, b):
    return a + b


@triton.jit
def rev_cumsum_kernel(r_ptr, alive_ptr, o_ptr, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    r_ptr += row * T
    alive_ptr += row * T
    o_ptr += row * T

    n_blocks = tl.cdiv(T, BLOCK)
    carry = tl.zeros((1,), dtype=tl.float32)
    for i in range(0, n_blocks):
        # walk from the end: position p counts backwards from T-1
        p = i * BLOCK + tl.arange(0, BLOCK)
        t = T - 1 - p
        m = p < T
        r = tl.load(r_ptr + t, mask=m, other=0.0)
        a = tl.load(alive_ptr + t, mask=m, other=0)
        r = tl.where(a != 0, r, 0.0)
        s = tl.associative_scan(r, 0, _add) + carry
        tl.store(o_ptr + t, s, mask=m)
        carry += tl.sum(r, axis=0)


class ModelNew(nn.Module):
    """
    Reverse cumulative sum without materializing the two flips.
    """

    def __init__(self):
        super().__init__()

    def forward(self, rewards, alive):
        rewards = rewards.contiguous()
        alive = alive.contiguous().to(torch.int8)
        out = torch.empty_like(rewards)
        B, T = rewards.shape
        BLOCK = max(16, min(1024, triton.next_power_of_2(T)))
        rev_cumsum_kernel[(B,)](rewards, alive, out, T, BLOCK=BLOCK)
        return out
