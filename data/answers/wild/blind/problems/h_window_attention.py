import math
import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Causal attention in which each query sees only the last `window` positions.
    """

    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        S, D = q.shape[-2], q.shape[-1]
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(D)
        i = torch.arange(S, device=q.device)[:, None]
        j = torch.arange(S, device=q.device)[None, :]
        allowed = (j <= i) & (i - j < self.window)
        scores = scores.masked_fill(~allowed, float("-inf"))
        return torch.matmul(torch.softmax(scores, dim=-1), v)


BATCH = 2
HEADS = 4
SEQ = 150
HEAD_DIM = 40
WINDOW = 37


def get_inputs():
    return [torch.randn(BATCH, HEADS, SEQ, HEAD_DIM) for _ in range(3)]


def get_init_inputs():
    return [WINDOW]
