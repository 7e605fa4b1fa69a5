import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def _tanh(z):
    return 2.0 * tl.sigmoid(2.0 * z) - 1.0


@triton.jit
def chain_kernel(
    x_desc, y_desc, scale_ptr, shift_ptr, d,
    NB: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr,
):
    r = tl.program_id(0) * BM
    c = tl.program_id(1) * BD
    cols = c + tl.arange(0, BD)
    mask = cols < d
    x = x_desc.load([r, c])
    for i in tl.static_range(NB):
        s = tl.load(scale_ptr + i * d + cols, mask=mask, other=0.0)
        b = tl.load(shift_ptr + i * d + cols, mask=mask, other=0.0)
        x = x + _tanh(x * s[None, :] + b[None, :])
    y_desc.store([r, c], x)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(dim))
        self.shift = nn.Parameter(0.1 * torch.randn(dim))


class ModelNew(nn.Module):
    """All residual blocks are applied in registers: one read and one write of x."""

    def __init__(self, dim, num_blocks):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim) for _ in range(num_blocks)])

    def forward(self, x):
        n, d = x.shape
        scale = torch.stack([b.scale for b in self.blocks])
        shift = torch.stack([b.shift for b in self.blocks])
        # descriptors need row strides that are multiples of 16 bytes
        pad = (-d) % 4
        xp = F.pad(x, (0, pad)).contiguous() if pad else x.contiguous()
        yp = torch.empty_like(xp)
        BM, BD = 16, 64
        x_desc = TensorDescriptor.from_tensor(xp, block_shape=[BM, BD])
        y_desc = TensorDescriptor.from_tensor(yp, block_shape=[BM, BD])
        grid = (triton.cdiv(n, BM), triton.cdiv(d, BD))
        chain_kernel[grid](x_desc, y_desc, scale, shift, d, NB=len(self.blocks), BM=BM, BD=BD)
        return yp[:, :d].contiguous() if pad else yp
