import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_recurrence_kernel(
    a_ptr, b_ptr, out_ptr,
    T, D,
    BLOCK_D: tl.constexpr,
):
    batch = tl.program_id(0)
    offs = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask = offs < D
    base = batch * T * D

    h = tl.zeros((BLOCK_D,), dtype=tl.float32)
    for t in range(0, T):
        ptr = base + t * D + offs
        a = tl.load(a_ptr + ptr, mask=mask, other=0.0)
        b = tl.load(b_ptr + ptr, mask=mask, other=0.0)
        g = tl.sigmoid(a)
        h = g * h + (1.0 - g) * b
        tl.store(out_ptr + ptr, h, mask=mask)


class ModelNew(nn.Module):
    """Keeps the running state in registers; one program per (batch, channel block)."""

    def __init__(self):
        super().__init__()

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        assert a.shape == b.shape, f"shape mismatch: {a.shape} vs {b.shape}"
        a = a.contiguous()
        b = b.contiguous()
        B, T, D = b.shape
        out = torch.empty_like(b)
        BLOCK_D = 64
        grid = (B, triton.cdiv(D, BLOCK_D))
        gated_recurrence_kernel[grid](a, b, out, T, D, BLOCK_D=BLOCK_D, num_warps=2)
        return out
