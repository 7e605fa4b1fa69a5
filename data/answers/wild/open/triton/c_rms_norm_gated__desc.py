import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

BLOCK_M = 16
BLOCK_D = 64


@triton.jit
def _rms_gated_desc(x_desc, g_desc, o_desc, w_ptr, D, inv_d, eps,
                    BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    row0 = tl.program_id(0) * BLOCK_M
    acc = tl.zeros([BLOCK_M], dtype=tl.float32)
    # out-of-bounds elements of a descriptor load are zero
    for d in range(0, D, BLOCK_D):
        x = x_desc.load([row0, d])
        acc += tl.sum(x * x, axis=1)
    scale = tl.rsqrt(acc * inv_d + eps)
    for d in range(0, D, BLOCK_D):
        x = x_desc.load([row0, d])
        g = g_desc.load([row0, d])
        cols = d + tl.arange(0, BLOCK_D)
        w = tl.load(w_ptr + cols, mask=cols < D, other=0.0)
        silu = g / (1.0 + tl.exp(-g))
        o_desc.store([row0, d], x * scale[:, None] * w[None, :] * silu)


class ModelNew(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x, gate):
        D = x.shape[-1]
        x2 = x.reshape(-1, D)
        g2 = gate.reshape(-1, D)
        M = x2.shape[0]
        # descriptors need 16-byte strides, pad the row pitch if D is not a multiple of 4
        pad = (-D) % 4
        if pad:
            x2 = F.pad(x2, (0, pad))
            g2 = F.pad(g2, (0, pad))
        x2 = x2.contiguous()
        g2 = g2.contiguous()
        pitch = D + pad
        out = torch.empty((M, pitch), device=x.device, dtype=x.dtype)
        block = [BLOCK_M, BLOCK_D]
        xd = TensorDescriptor(x2, shape=[M, D], strides=[pitch, 1], block_shape=block)
        gd = TensorDescriptor(g2, shape=[M, D], strides=[pitch, 1], block_shape=block)
        od = TensorDescriptor(out, shape=[M, D], strides=[pitch, 1], block_shape=block)
        grid = (triton.cdiv(M, BLOCK_M),)
        _rms_gated_desc[grid](xd, gd, od, self.weight, D, 1.0 / D, self.eps,
                              BLOCK_M=BLOCK_M, BLOCK_D=BLOCK_D, num_warps=4)
        return out[:, :D].reshape(x.shape)
