import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def rms_gate_kernel(x_ptr, gate_ptr, w_ptr, out_ptr, n_cols, eps, BLOCK: "tl.constexpr"):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    offs = row * n_cols + cols

    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(gate_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)

    ms = tl.sum(x * x, axis=0) / n_cols
    inv = 1.0 / tl.sqrt(ms + eps)
    out = x * inv * w * (g * tl.sigmoid(g))
    tl.store(out_ptr + offs, out, mask=mask)


class ModelNew(nn.Module):
    """
    Fused RMSNorm + SiLU gating: one program per row, a single read of x and gate.
    """

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        assert x.shape == gate.shape, f"shape mismatch: {x.shape} vs {gate.shape}"
        x = x.contiguous()
        gate = gate.contiguous()
        n_cols = x.shape[-1]
        n_rows = x.numel() // n_cols
        out = torch.empty_like(x)
        BLOCK = triton.next_power_of_2(n_cols)
        rms_gate_kernel[(n_rows,)](x, gate, self.weight, out, n_cols, self.eps, BLOCK=BLOCK, num_warps=4)
        return out
