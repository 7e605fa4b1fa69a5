import torch
import torch.nn as nn


class Model(nn.Module):
    """Softmax over keys with a temperature and a key padding mask."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, scores, mask):
        s = scores / self.temperature
        s = s.masked_fill(~mask[:, None, None, :], -1e4)
        return torch.softmax(s, dim=-1)


batch = 4
heads = 4
seq = 160


def get_inputs():
    scores = torch.randn(batch, heads, seq, seq)
    mask = torch.rand(batch, seq) > 0.25
    return [scores, mask]


def get_init_inputs():
    return [0.7]
