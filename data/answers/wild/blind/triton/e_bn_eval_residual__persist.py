import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _bn_add_relu_persistent(
    x_ptr, r_ptr, out_ptr,
    mean_ptr, var_ptr, w_ptr, b_ptr,
    n_elements, C, HW, eps,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    nprog = tl.num_programs(0)
    num_blocks = tl.cdiv(n_elements, BLOCK)
    for blk in range(pid, num_blocks, nprog):
        offs = blk * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n_elements
        c = (offs // HW) % C
        mean = tl.load(mean_ptr + c, mask=mask, other=0.0)
        var = tl.load(var_ptr + c, mask=mask, other=1.0)
        w = tl.load(w_ptr + c, mask=mask, other=0.0)
        b = tl.load(b_ptr + c, mask=mask, other=0.0)
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        r = tl.load(r_ptr + offs, mask=mask, other=0.0)
        y = (x - mean) * (w / tl.sqrt(var + eps)) + b + r
        tl.store(out_ptr + offs, tl.maximum(y, 0.0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.2)
        self.register_buffer("running_var", torch.rand(channels) + 0.3)

    def forward(self, x, residual):
        x = x.contiguous()
        residual = residual.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        C = x.shape[1]
        HW = x[0, 0].numel()
        BLOCK = 1024
        # 108 SMs on an A100, a few CTAs for each
        grid = (min(triton.cdiv(n, BLOCK), 108 * 4),)
        _bn_add_relu_persistent[grid](
            x, residual, out,
            self.running_mean, self.running_var, self.weight, self.bias,
            n, C, HW, self.eps, BLOCK=BLOCK,
        )
        return out
