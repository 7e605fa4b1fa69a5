import math
import torch
import torch.nn as nn

BATCH = 2
SEQ = 48
HEADS = 4
HEAD_DIM = 24


class Model(nn.Module):
    """Multi head self attention with qkv projection, output projection and residual."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        b, s, e = x.shape
        qkv = self.qkv(x).reshape(b, s, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        att = torch.softmax(q @ k.transpose(-2, -1) * (1.0 / math.sqrt(self.head_dim)), dim=-1)
        out = (att @ v).transpose(1, 2).reshape(b, s, e)
        return x + self.proj(out)


def get_inputs():
    return [torch.randn(BATCH, SEQ, HEADS * HEAD_DIM)]


def get_init_inputs():
    return [HEADS * HEAD_DIM, HEADS]
