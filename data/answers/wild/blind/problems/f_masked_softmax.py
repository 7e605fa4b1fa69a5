import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Softmax over attention scores with a temperature and a key padding mask (True = keep)."""

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, scores, mask):
        scores = scores / self.temperature
        scores = scores.masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, dim=-1)


BATCH = 3
HEADS = 4
Q_LEN = 30
K_LEN = 150


def get_inputs():
    scores = torch.randn(BATCH, HEADS, Q_LEN, K_LEN) * 2
    mask = torch.rand(BATCH, 1, 1, K_LEN) > 0.3
    mask[..., 0] = True
    return [scores, mask]


def get_init_inputs():
    return [1.7]
