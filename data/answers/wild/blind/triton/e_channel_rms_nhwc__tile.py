import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_nchw_to_nhwc(x_ptr, w_ptr, y_ptr, C, HW, eps, BC: tl.constexpr, BP: tl.constexpr):
    n = tl.program_id(1)
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    c = tl.arange(0, BC)
    mask = (c[:, None] < C) & (p[None, :] < HW)
    # coalesced along the pixels
    x = tl.load(x_ptr + n * C * HW + c[:, None] * HW + p[None, :], mask=mask, other=0.0).to(tl.float32)
    ms = tl.sum(x * x, axis=0) / C
    rstd = 1.0 / tl.sqrt(ms + eps)
    w = tl.load(w_ptr + c, mask=c < C, other=0.0)
    y = x * rstd[None, :] * w[:, None]
    # transpose in registers, so stores are coalesced along the channels
    yt = tl.trans(y)
    out_mask = (p[:, None] < HW) & (c[None, :] < C)
    tl.store(y_ptr + n * HW * C + p[:, None] * C + c[None, :], yt.to(tl.bfloat16), mask=out_mask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.2 * torch.randn(channels))

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        y = torch.empty((N, H, W, C), device=x.device, dtype=torch.bfloat16)
        BP = 32
        rms_nchw_to_nhwc[(triton.cdiv(H * W, BP), N)](
            x, self.weight, y, C, H * W, self.eps, BC=triton.next_power_of_2(C), BP=BP, num_warps=4)
        return y
