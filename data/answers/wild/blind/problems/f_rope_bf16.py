import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Rotary embedding (half rotation) on bfloat16 heads."""

    def __init__(self, max_seq, half_dim, base=10000.0):
        super().__init__()
        inv_freq = base ** (-torch.arange(half_dim).float() / half_dim)
        angles = torch.arange(max_seq).float()[:, None] * inv_freq[None, :]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        seq = x.shape[2]
        cos, sin = self.cos[:seq], self.sin[:seq]
        x1, x2 = x.float().chunk(2, dim=-1)
        return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1).to(x.dtype)


BATCH = 2
HEADS = 5
SEQ = 61
HALF_DIM = 28


def get_inputs():
    return [torch.randn(BATCH, HEADS, SEQ, 2 * HALF_DIM).to(torch.bfloat16)]


def get_init_inputs():
    return [SEQ, HALF_DIM]
