import torch
import torch.nn as nn
import triton
import triton.language as tl

@triton.jit
def group_norm_silu_kernel(
    x_ptr,      # input
    w_ptr,      # gamma
    b_ptr,      # beta
    y_ptr,      # output
    C, HW, G,
    group_elems,
    cpg,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    # Each program handles one (n, g) pair
    pid = tl.program_id(0)
    n = pid // G
    g = pid % G
    base = n * C * HW + g * cpg * HW

    # First pass: mean
    acc = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, group_elems, BLOCK_SIZE):
        offs = start + tl.arange(0, BLOCK_SIZE)
        acc += tl.load(x_ptr + base + offs, mask=offs < group_elems, other=0.0)
    mean = tl.sum(acc, axis=0) / group_elems

    # Second pass: variance
    acc = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, group_elems, BLOCK_SIZE):
        offs = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + base + offs, mask=offs < group_elems, other=0.0)
        d = tl.where(offs < group_elems, x - mean, 0.0)
        acc += d * d
    var = tl.sum(acc, axis=0) / group_elems
    rstd = 1.0 / tl.sqrt(var + eps)

    # Third pass: normalize + affine + SiLU
    for start in range(0, group_elems, BLOCK_SIZE):
        offs = start + tl.arange(0, BLOCK_SIZE)
        mask = offs < group_elems
        x = tl.load(x_ptr + base + offs, mask=mask, other=0.0)
        c = g * cpg + offs // HW
        w = tl.load(w_ptr + c, mask=mask, other=1.0)
        b = tl.load(b_ptr + c, mask=mask, other=0.0)
        y = (x - mean) * rstd * w + b
        y = y * tl.sigmoid(y)
        tl.store(y_ptr + base + offs, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_groups, num_channels):
        super(ModelNew, self).__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels, eps=1e-5)

    def forward(self, x):
        x = x.contiguous()
        N, C = x.shape[0], x.shape[1]
        HW = x.numel() // (N * C)
        G = self.gn.num_groups
        cpg = C // G
        y = torch.empty_like(x)
        group_norm_silu_kernel[(N * G,)](
            x, self.gn.weight, self.gn.bias, y,
            C, HW, G, cpg * HW, cpg, self.gn.eps,
            BLOCK_SIZE=1024,
        )
        return y
