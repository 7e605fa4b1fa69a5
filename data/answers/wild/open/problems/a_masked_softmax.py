import torch
import torch.nn as nn

BATCH = 2
HEADS = 4
QLEN = 60
KLEN = 100


class Model(nn.Module):
    """Softmax over the keys that the boolean mask (True = keep) admits."""

    def __init__(self):
        super().__init__()

    def forward(self, scores, mask):
        scores = scores.masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, dim=-1)


def get_inputs():
    scores = torch.randn(BATCH, HEADS, QLEN, KLEN)
    mask = torch.rand(BATCH, 1, QLEN, KLEN) > 0.3
    mask[..., 0] = True
    return [scores, mask]


def get_init_inputs():
    return []
