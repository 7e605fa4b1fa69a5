import torch
import torch.nn as nn
import triton
import triton.language as tl

BLOCK_SIZE = 1024


@triton.jit
def bn_add_relu_kernel(
    x_ptr, skip_ptr, out_ptr,
    mean_ptr, var_ptr, weight_ptr, bias_ptr,
    n_elements, C, HW, eps,
    BLOCK: tl.constexpr = BLOCK_SIZE,
):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    c = (offsets // HW) % C

    x = tl.load(x_ptr + offsets, mask=mask)
    s = tl.load(skip_ptr + offsets, mask=mask)
    mean = tl.load(mean_ptr + c, mask=mask)
    var = tl.load(var_ptr + c, mask=mask, other=1.0)
    gamma = tl.load(weight_ptr + c, mask=mask)
    beta = tl.load(bias_ptr + c, mask=mask)

    inv_std = 1.0 / tl.sqrt(var + eps.to(tl.float32))
    y = (x - mean) * inv_std * gamma + beta + s
    tl.store(out_ptr + offsets, tl.maximum(y, 0.0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super(ModelNew, self).__init__()
        self.bn = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.bn.weight, 0.5, 1.5)
        nn.init.uniform_(self.bn.bias, -0.5, 0.5)
        self.bn.running_mean.uniform_(-0.5, 0.5)
        self.bn.running_var.uniform_(0.5, 2.0)

    def forward(self, x, skip):
        x = x.contiguous()
        skip = skip.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        grid = lambda meta: (triton.cdiv(n, BLOCK_SIZE),)
        bn_add_relu_kernel[grid](
            x, skip, out,
            self.bn.running_mean, self.bn.running_var, self.bn.weight, self.bn.bias,
            n, x.shape[1], x.shape[2] * x.shape[3], self.bn.eps,
        )
        return out
