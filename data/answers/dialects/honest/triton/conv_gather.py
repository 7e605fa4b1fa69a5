# problem: conv_relu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv_kernel(
    x_ptr, w_ptr, b_ptr, shift_ptr, y_ptr, total, C, H, W, O, OH, OW, pad,
    K: tl.constexpr, BLOCK: tl.constexpr,
):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = idx < total
    ow = idx % OW
    oh = (idx // OW) % OH
    o = (idx // (OW * OH)) % O
    n = idx // (OW * OH * O)
    acc = tl.load(b_ptr + o, mask=live, other=0.0) - tl.load(shift_ptr + o, mask=live, other=0.0)
    for c in range(C):
        for p in tl.static_range(K):
            for q in tl.static_range(K):
                h = oh + p - pad
                w = ow + q - pad
                inside = live & (h >= 0) & (h < H) & (w >= 0) & (w < W)
                x = tl.load(x_ptr + ((n * C + c) * H + h) * W + w, mask=inside, other=0.0)
                acc += x * tl.load(w_ptr + ((o * C + c) * K + p) * K + q, mask=live, other=0.0)
    tl.store(y_ptr + idx, tl.maximum(acc, 0.0), mask=live)


class ModelNew(nn.Module):
    def __init__(self, channels, out, kernel):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, kernel, padding=1)
        self.register_buffer("shift", torch.full((out, 1, 1), 0.5))

    def forward(self, x):
        B, C, H, W = x.size()
        O, _, K, _ = self.conv.weight.shape
        pad = self.conv.padding[0]
        OH, OW = H + 2 * pad - K + 1, W + 2 * pad - K + 1
        y = x.new_empty((B, O, OH, OW))
        grid = (triton.cdiv(y.numel(), 256),)
        conv_kernel[grid](x, self.conv.weight, self.conv.bias, self.shift, y, y.numel(), C, H, W, O, OH, OW, pad, K=K, BLOCK=256)
        return y
