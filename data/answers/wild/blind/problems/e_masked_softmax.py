import torch
import torch.nn as nn


class Model(nn.Module):
    """Scaled softmax over keys with a key padding mask (True = keep)."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, scores, mask):
        s = scores * self.scale
        s = s.masked_fill(~mask[:, None, None, :], -1e9)
        return torch.softmax(s, dim=-1)


batch_size = 4
num_heads = 4
num_queries = 65
num_keys = 130


def get_inputs():
    scores = torch.randn(batch_size, num_heads, num_queries, num_keys) * 4
    lens = torch.randint(1, num_keys + 1, (batch_size, 1))
    mask = torch.arange(num_keys)[None, :] < lens
    return [scores, mask]


def get_init_inputs():
    return [0.25]
