import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gn_silu_kernel(
    x_ptr,          # [N, C, HW]
    w_ptr,
    b_ptr,
    y_ptr,
    C,
    HW,
    G,
    group_size,     # (C // G) * HW, contiguous in memory
    eps,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    g = pid % G
    base = pid * group_size
    ch0 = g * (C // G)

    # mean
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for off in range(0, group_size, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + base + idx, mask=idx < group_size, other=0.0).to(tl.float32)
    mean = tl.sum(acc, axis=0) / group_size

    # variance
    acc2 = tl.zeros((BLOCK,), dtype=tl.float32)
    for off in range(0, group_size, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        m = idx < group_size
        v = tl.load(x_ptr + base + idx, mask=m, other=0.0).to(tl.float32)
        d = tl.where(m, v - mean, 0.0)
        acc2 += d * d
    rstd = 1.0 / tl.sqrt(tl.sum(acc2, axis=0) / group_size + eps)

    # normalize + affine + silu
    for off in range(0, group_size, BLOCK):
        idx = off + tl.arange(0, BLOCK)
        m = idx < group_size
        v = tl.load(x_ptr + base + idx, mask=m, other=0.0).to(tl.float32)
        ch = ch0 + idx // HW
        w = tl.load(w_ptr + ch, mask=m, other=0.0)
        b = tl.load(b_ptr + ch, mask=m, other=0.0)
        y = (v - mean) * rstd * w + b
        y = y * tl.sigmoid(y)
        tl.store(y_ptr + base + idx, y, mask=m)


class GroupNormSiLUFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, num_groups, eps):
        x = x.contiguous()
        N, C = x.shape[0], x.shape[1]
        HW = x.numel() // (N * C)
        y = torch.empty_like(x)
        group_size = (C // num_groups) * HW
        BLOCK = min(triton.next_power_of_2(group_size), 2048)
        gn_silu_kernel[(N * num_groups,)](
            x, weight, bias, y, C, HW, num_groups, group_size, eps, BLOCK=BLOCK, num_warps=8
        )
        return y

    @staticmethod
    def backward(ctx, grad_out):
        raise NotImplementedError("forward only")


class ModelNew(nn.Module):
    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels, eps=1e-5)
        nn.init.normal_(self.gn.weight, 1.0, 0.2)
        nn.init.normal_(self.gn.bias, 0.0, 0.2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return GroupNormSiLUFunction.apply(x, self.gn.weight, self.gn.bias, self.gn.num_groups, self.gn.eps)
