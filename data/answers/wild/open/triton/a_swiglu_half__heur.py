import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({
    "BLOCK": lambda args: min(1024, triton.next_power_of_2(args["H"])),
    "EVEN": lambda args: args["H"] % args["BLOCK"] == 0,
})
@triton.jit
def swiglu_fwd(x_ptr, y_ptr, H, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    v_ptrs = x_ptr + row * 2 * H + col
    g_ptrs = v_ptrs + H
    if EVEN:
        v = tl.load(v_ptrs).to(tl.float32)
        g = tl.load(g_ptrs).to(tl.float32)
        out = v * g * tl.sigmoid(g)
        tl.store(y_ptr + row * H + col, out.to(y_ptr.dtype.element_ty))
    else:
        mask = col < H
        v = tl.load(v_ptrs, mask=mask, other=0.0).to(tl.float32)
        g = tl.load(g_ptrs, mask=mask, other=0.0).to(tl.float32)
        out = v * g * tl.sigmoid(g)
        tl.store(y_ptr + row * H + col, out.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        assert x.shape[-1] % 2 == 0, f"last dim must be even, got {x.shape[-1]}"
        H = x.shape[-1] // 2
        rows = x.numel() // (2 * H)
        y = torch.empty(*x.shape[:-1], H, dtype=x.dtype, device=x.device)
        grid = lambda meta: (rows, triton.cdiv(H, meta["BLOCK"]))
        swiglu_fwd[grid](x, y, H)
        return y
