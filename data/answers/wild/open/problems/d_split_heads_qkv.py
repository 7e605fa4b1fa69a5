import torch
import torch.nn as nn


class Model(nn.Module):
    """Split a packed projection into scaled queries, keys and values, heads first."""

    def __init__(self, heads, head_dim):
        super().__init__()
        self.heads = heads
        self.head_dim = head_dim
        self.scale = head_dim ** -0.5

    def forward(self, qkv):
        b, s, _ = qkv.shape
        q, k, v = qkv.chunk(3, dim=-1)
        q = q.reshape(b, s, self.heads, self.head_dim).permute(0, 2, 1, 3).contiguous() * self.scale
        k = k.reshape(b, s, self.heads, self.head_dim).permute(0, 2, 1, 3).contiguous()
        v = v.reshape(b, s, self.heads, self.head_dim).permute(0, 2, 1, 3).contiguous()
        return q, k, v


BATCH = 4
SEQ = 100
HEADS = 6
HEAD_DIM = 40


def get_inputs():
    return [torch.randn(BATCH, SEQ, 3 * HEADS * HEAD_DIM)]


def get_init_inputs():
    return [HEADS, HEAD_DIM]
