import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def inorm_stats(x_ptr, mean_ptr, rstd_ptr, HW, eps, BLOCK: tl.constexpr):
    nc = tl.program_id(0)
    base = x_ptr + nc * HW
    s = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, tl.cdiv(HW, BLOCK)):
        o = i * BLOCK + tl.arange(0, BLOCK)
        s += tl.load(base + o, mask=o < HW, other=0.0)
    mean = tl.sum(s, 0) / HW
    q = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, tl.cdiv(HW, BLOCK)):
        o = i * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(base + o, mask=o < HW, other=0.0)
        d = tl.where(o < HW, v - mean, 0.0)
        q += d * d
    var = tl.sum(q, 0) / HW
    tl.store(mean_ptr + nc, mean)
    tl.store(rstd_ptr + nc, tl.rsqrt(var + eps))


@triton.jit
def inorm_apply(x_ptr, y_ptr, mean_ptr, rstd_ptr, w_ptr, b_ptr, C, HW, slope, BLOCK: tl.constexpr):
    nc = tl.program_id(0)
    blk = tl.program_id(1)
    c = nc % C
    mean = tl.load(mean_ptr + nc)
    rstd = tl.load(rstd_ptr + nc)
    w = tl.load(w_ptr + c) * rstd
    b = tl.load(b_ptr + c) - mean * w
    o = blk * BLOCK + tl.arange(0, BLOCK)
    m = o < HW
    v = tl.load(x_ptr + nc * HW + o, mask=m)
    y = v * w + b
    y = tl.where(y >= 0, y, y * slope)
    tl.store(y_ptr + nc * HW + o, y, mask=m)


class ModelNew(nn.Module):
    def __init__(self, num_features, negative_slope):
        super().__init__()
        self.norm = nn.InstanceNorm2d(num_features, eps=1e-5, affine=True)
        self.act = nn.LeakyReLU(negative_slope)
        with torch.no_grad():
            self.norm.weight.copy_(torch.rand(num_features) + 0.5)
            self.norm.bias.copy_(torch.randn(num_features) * 0.3)

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        HW = H * W
        mean = torch.empty(N * C, device=x.device, dtype=torch.float32)
        rstd = torch.empty(N * C, device=x.device, dtype=torch.float32)
        y = torch.empty_like(x)
        inorm_stats[(N * C,)](x, mean, rstd, HW, self.norm.eps, BLOCK=1024)
        grid = (N * C, triton.cdiv(HW, 1024))
        inorm_apply[grid](x, y, mean, rstd, self.norm.weight, self.norm.bias, C, HW,
                          self.act.negative_slope, BLOCK=1024)
        return y
