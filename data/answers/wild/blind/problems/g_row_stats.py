import torch
import torch.nn as nn


class Model(nn.Module):
    """Row-wise max, argmax and logsumexp."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        values, indices = torch.max(x, dim=1)
        return values, indices, torch.logsumexp(x, dim=1)


rows = 384
cols = 1537


def get_inputs():
    return [torch.randn(rows, cols) * 2.0]


def get_init_inputs():
    return []
