import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def bn_skip_hardswish_kernel(
    x_ptr, skip_ptr, out_ptr,
    mean_ptr, var_ptr, weight_ptr, bias_ptr,
    total, C, HW, eps,
    BLOCK_SIZE: tl.constexpr,
):
    pid = tl.program_id(0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < total
    c = (offs // HW) % C

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    s = tl.load(skip_ptr + offs, mask=mask, other=0.0)
    mu = tl.load(mean_ptr + c, mask=mask, other=0.0)
    var = tl.load(var_ptr + c, mask=mask, other=1.0)
    g = tl.load(weight_ptr + c, mask=mask, other=1.0)
    b = tl.load(bias_ptr + c, mask=mask, other=0.0)

    z = (x - mu) * tl.rsqrt(var + eps) * g + b + s
    # hardswish(z) = z * relu6(z + 3) / 6
    r6 = tl.minimum(tl.maximum(z + 3.0, 0.0), 6.0)
    tl.store(out_ptr + offs, z * r6 / 6.0, mask=mask)


class ModelNew(nn.Module):
    """Inference-time batch norm with stored statistics, skip connection, hardswish (Triton)."""

    def __init__(self, channels: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.2)
        self.register_buffer("running_var", torch.rand(channels) + 0.3)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        if not x.is_cuda:
            y = F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                             training=False, eps=self.eps)
            return F.hardswish(y + skip)
        x = x.contiguous()
        skip = skip.contiguous()
        out = torch.empty_like(x)
        N, C, H, W = x.shape
        total = x.numel()
        BLOCK_SIZE = 1024
        grid = (triton.cdiv(total, BLOCK_SIZE),)
        bn_skip_hardswish_kernel[grid](
            x, skip, out,
            self.running_mean, self.running_var, self.weight, self.bias,
            total, C, H * W, self.eps,
            BLOCK_SIZE=BLOCK_SIZE,
        )
        return out
