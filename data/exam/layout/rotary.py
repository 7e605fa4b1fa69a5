import torch
import torch.nn as nn


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


class Model(nn.Module):
    """Rotary position embedding of one tensor; cos and sin are given."""

    def forward(self, q, cos, sin):
        return q * cos + rotate_half(q) * sin


BATCH, HEADS, SEQ, HALF_DIM = 4, 6, 90, 24


def get_inputs():
    angles = torch.rand(SEQ, 2 * HALF_DIM) * 6.0
    return [torch.randn(BATCH, HEADS, SEQ, 2 * HALF_DIM), angles.cos(), angles.sin()]


def get_init_inputs():
    return []
