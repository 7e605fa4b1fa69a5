import torch
import torch.nn as nn


class Model(nn.Module):
    """Rotary embedding of queries and keys, angles gathered by position id."""

    def __init__(self, half_dim, max_pos):
        super().__init__()
        inv = 10000.0 ** (-torch.arange(half_dim).float() / half_dim)
        angles = torch.arange(max_pos).float()[:, None] * inv[None, :]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotate(self, x, c, s):
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat([x1 * c - x2 * s, x2 * c + x1 * s], dim=-1)

    def forward(self, q, k, pos):
        c = self.cos[pos].unsqueeze(2)
        s = self.sin[pos].unsqueeze(2)
        return self.rotate(q, c, s), self.rotate(k, c, s)


BATCH = 4
SEQ = 60
HEADS = 6
KV_HEADS = 2
HALF_DIM = 24
MAX_POS = 512


def get_inputs():
    q = torch.randn(BATCH, SEQ, HEADS, 2 * HALF_DIM)
    k = torch.randn(BATCH, SEQ, KV_HEADS, 2 * HALF_DIM)
    pos = torch.randint(0, MAX_POS, (BATCH, SEQ))
    return [q, k, pos]


def get_init_inputs():
    return [HALF_DIM, MAX_POS]
