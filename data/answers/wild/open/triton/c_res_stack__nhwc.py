import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv3x3_bn_kernel(
    x_ptr, w_ptr, res_ptr, y_ptr,
    mean_ptr, var_ptr, gamma_ptr, beta_ptr, eps,
    M, H, W, C,
    HAS_RES: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_C: tl.constexpr, BLOCK_K: tl.constexpr,
):
    """NHWC input [M = N*H*W, C], weights [3, 3, Cin, Cout]."""
    pid = tl.program_id(0)
    m = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    co = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    w_pos = m % W
    h_pos = (m // W) % H
    acc = tl.zeros((BLOCK_M, BLOCK_C), dtype=tl.float32)
    for tap in range(9):
        dh = tap // 3 - 1
        dw = tap % 3 - 1
        hh = h_pos + dh
        ww = w_pos + dw
        inside = (m < M) & (hh >= 0) & (hh < H) & (ww >= 0) & (ww < W)
        src = (m + dh * W + dw) * C
        for k0 in range(0, C, BLOCK_K):
            ci = k0 + tl.arange(0, BLOCK_K)
            a = tl.load(x_ptr + src[:, None] + ci[None, :], mask=inside[:, None] & (ci[None, :] < C), other=0.0)
            b = tl.load(w_ptr + (tap * C + ci[:, None]) * C + co[None, :],
                        mask=(ci[:, None] < C) & (co[None, :] < C), other=0.0)
            acc += tl.dot(a, b, input_precision="ieee")
    cm = co < C
    inv = tl.load(gamma_ptr + co, mask=cm, other=0.0) / tl.sqrt(tl.load(var_ptr + co, mask=cm, other=1.0) + eps)
    mu = tl.load(mean_ptr + co, mask=cm, other=0.0)
    be = tl.load(beta_ptr + co, mask=cm, other=0.0)
    acc = (acc - mu[None, :]) * inv[None, :] + be[None, :]
    out = m[:, None] * C + co[None, :]
    om = (m[:, None] < M) & cm[None, :]
    if HAS_RES:
        acc += tl.load(res_ptr + out, mask=om, other=0.0)
    tl.store(y_ptr + out, tl.maximum(acc, 0.0), mask=om)


def conv_bn_relu(x, conv, bn, res=None):
    N, H, W, C = x.shape
    weight = conv.weight.permute(2, 3, 1, 0).contiguous()
    y = torch.empty_like(x)
    M = N * H * W
    BLOCK_M, BLOCK_C, BLOCK_K = 64, 16, 16
    conv3x3_bn_kernel[(triton.cdiv(M, BLOCK_M), triton.cdiv(C, BLOCK_C))](
        x, weight, res if res is not None else x, y,
        bn.running_mean, bn.running_var, bn.weight, bn.bias, bn.eps,
        M, H, W, C,
        HAS_RES=res is not None, BLOCK_M=BLOCK_M, BLOCK_C=BLOCK_C, BLOCK_K=BLOCK_K,
    )
    return y


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        for bn in (self.bn1, self.bn2):
            bn.running_mean.uniform_(-0.2, 0.2)
            bn.running_var.uniform_(0.5, 1.5)

    def forward(self, x):
        y = conv_bn_relu(x, self.conv1, self.bn1)
        return conv_bn_relu(y, self.conv2, self.bn2, res=x)


class ModelNew(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(channels) for _ in range(depth)])

    def forward(self, x):
        # channels-last once for the whole stack
        h = x.permute(0, 2, 3, 1).contiguous()
        for blk in self.blocks:
            h = blk(h)
        return h.permute(0, 3, 1, 2).contiguous()
