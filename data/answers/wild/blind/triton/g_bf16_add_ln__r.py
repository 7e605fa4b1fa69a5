import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_ln_kernel(
    x_ptr, r_ptr, w_ptr, b_ptr, y_ptr, s_ptr,
    n_rows, D, eps,
    BLOCK_D: tl.constexpr,
):
    # grid-stride over rows so weight/bias are loaded only once per program
    cols = tl.arange(0, BLOCK_D)
    mask = cols < D
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    for row in range(tl.program_id(0), n_rows, tl.num_programs(0)):
        o = row * D + cols
        x = tl.load(x_ptr + o, mask=mask, other=0.0).to(tl.float32)
        r = tl.load(r_ptr + o, mask=mask, other=0.0).to(tl.float32)
        s_lp = (x + r).to(tl.bfloat16)
        tl.store(s_ptr + o, s_lp, mask=mask)
        s = s_lp.to(tl.float32)  # same rounding as eager
        mean = tl.sum(s, axis=0) / D
        c = tl.where(mask, s - mean, 0.0)
        rstd = tl.rsqrt(tl.sum(c * c, axis=0) / D + eps)
        tl.store(y_ptr + o, (c * rstd * w + b).to(tl.bfloat16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln = nn.LayerNorm(dim).to(torch.bfloat16)

    def forward(self, x, residual):
        x = x.contiguous()
        residual = residual.contiguous()
        D = x.shape[-1]
        n_rows = x.numel() // D
        y = torch.empty_like(x)
        s = torch.empty_like(x)
        grid = (min(n_rows, 432),)
        add_ln_kernel[grid](x, residual, self.ln.weight, self.ln.bias, y, s, n_rows, D, self.ln.eps,
                            BLOCK_D=triton.next_power_of_2(D), num_warps=4)
        return y, s
