import math
import torch
import torch.nn as nn

BATCH = 2
HEADS = 4
SEQ = 100
HEAD_DIM = 32


class Model(nn.Module):
    """Causal scaled dot product attention on given q, k, v."""

    def __init__(self):
        super().__init__()

    def forward(self, q, k, v):
        s = q.size(-2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        mask = torch.triu(torch.ones(s, s, dtype=torch.bool, device=q.device), diagonal=1)
        scores = scores.masked_fill(mask, float("-inf"))
        return torch.matmul(torch.softmax(scores, dim=-1), v)


def get_inputs():
    shape = (BATCH, HEADS, SEQ, HEAD_DIM)
    return [torch.randn(shape), torch.randn(shape), torch.randn(shape)]


def get_init_inputs():
    return []
