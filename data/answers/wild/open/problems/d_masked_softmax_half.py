import torch
import torch.nn as nn


class Model(nn.Module):
    """Softmax over half-precision attention scores with a key mask."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, scores, mask):
        scores = scores * self.scale
        scores = scores.masked_fill(~mask[:, None, None, :], torch.finfo(scores.dtype).min)
        return torch.softmax(scores, dim=-1)


BATCH = 4
HEADS = 6
QUERIES = 60
KEYS = 200


def get_inputs():
    scores = (torch.randn(BATCH, HEADS, QUERIES, KEYS) * 4.0).half()
    mask = torch.rand(BATCH, KEYS) > 0.25
    mask[:, 0] = True
    return [scores, mask]


def get_init_inputs():
    return [0.25]
