import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dw_bn_relu6(x_ptr, w_ptr, stats_ptr, y_ptr,
                C, H, W, OH, OW, eps,
                KS: tl.constexpr, STRIDE: tl.constexpr, PAD: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(1)
    c = plane % C
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = p < OH * OW
    oh = p // OW
    ow = p % OW
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for kh in tl.static_range(KS):
        for kw in tl.static_range(KS):
            ih = oh * STRIDE + kh - PAD
            iw = ow * STRIDE + kw - PAD
            m = ok & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
            v = tl.load(x_ptr + plane * H * W + ih * W + iw, mask=m, other=0.0)
            acc += v * tl.load(w_ptr + c * KS * KS + kh * KS + kw)
    # stats: rows mean, var, gamma, beta
    scale = tl.load(stats_ptr + 2 * C + c) / tl.sqrt(tl.load(stats_ptr + C + c) + eps)
    shift = tl.load(stats_ptr + 3 * C + c) - tl.load(stats_ptr + c) * scale
    y = tl.maximum(acc * scale + shift, 0.0)
    six = tl.full((BLOCK,), 6.0, dtype=tl.float32)
    y = tl.inline_asm_elementwise(
        "min.f32 $0, $1, $2;",
        "=f,f,f",
        [y, six],
        dtype=tl.float32,
        is_pure=True,
        pack=1,
    )
    tl.store(y_ptr + plane * OH * OW + p, y, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, channels, ksize, stride):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, ksize, stride=stride, padding=ksize // 2, groups=channels, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.bn.weight, 2.0, 6.0)
        nn.init.uniform_(self.bn.bias, 0.0, 2.0)
        self.bn.running_mean.uniform_(-0.3, 0.3)
        self.bn.running_var.uniform_(0.5, 1.5)

    def forward(self, x):
        x = x.contiguous()
        N, C, H, W = x.shape
        ks = self.conv.kernel_size[0]
        st = self.conv.stride[0]
        pad = self.conv.padding[0]
        OH = (H + 2 * pad - ks) // st + 1
        OW = (W + 2 * pad - ks) // st + 1
        y = x.new_empty((N, C, OH, OW))
        grid = (triton.cdiv(OH * OW, 256), N * C)
        bn = self.bn
        stats = torch.stack([bn.running_mean, bn.running_var, bn.weight, bn.bias])
        dw_bn_relu6[grid](x, self.conv.weight, stats, y, C, H, W, OH, OW, self.bn.eps,
                          KS=ks, STRIDE=st, PAD=pad, BLOCK=256)
        return y
