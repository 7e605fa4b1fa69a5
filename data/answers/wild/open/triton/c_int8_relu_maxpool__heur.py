import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics({
    "BLOCK": lambda args: max(64, min(1024, triton.next_power_of_2(args["n_out"]))),
    "num_warps": lambda args: 4,
})
@triton.jit
def relu_pool_i8(x_ptr, y_ptr, n_out, H, W, PH, PW, K: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = o < n_out
    pw = o % PW
    ph = (o // PW) % PH
    plane = o // (PW * PH)
    best = tl.zeros([BLOCK], dtype=tl.int32)   # relu: nothing below zero survives
    for i in tl.static_range(K):
        for j in tl.static_range(K):
            v = tl.load(x_ptr + plane * H * W + (ph * K + i) * W + pw * K + j, mask=live, other=0)
            best = tl.maximum(best, v.to(tl.int32))
    tl.store(y_ptr + o, best.to(tl.int8), mask=live)


class ModelNew(nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.pool = pool

    def forward(self, x):
        assert x.dtype == torch.int8, f"int8 expected, got {x.dtype}"
        x = x.contiguous()
        N, C, H, W = x.shape
        PH = (H - self.pool) // self.pool + 1
        PW = (W - self.pool) // self.pool + 1
        y = torch.empty((N, C, PH, PW), dtype=torch.int8, device=x.device)
        n_out = y.numel()
        grid = lambda meta: (triton.cdiv(n_out, meta["BLOCK"]),)
        relu_pool_i8[grid](x, y, n_out, H, W, PH, PW, K=self.pool)
        return y
