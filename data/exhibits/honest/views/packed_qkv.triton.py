# verdict: correct ok
# Knows how far the tokens of a packed projection are apart.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weigh(q_ptr, k_ptr, v_ptr, out_ptr, width, apart, BLOCK: tl.constexpr):
    token, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < width
    q = tl.load(q_ptr + token * apart + column, mask=inside, other=0.0)
    k = tl.load(k_ptr + token * apart + column, mask=inside, other=0.0)
    v = tl.load(v_ptr + token * apart + column, mask=inside, other=0.0)
    tl.store(out_ptr + token * width + column, tl.sum(q * k, 0) * v, mask=inside)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        tokens, width = q.shape
        out = torch.empty((tokens, width), device=q.device, dtype=q.dtype)
        weigh[(tokens,)](q, k, v, out, width, q.stride(0), BLOCK=triton.next_power_of_2(width))
        return out
