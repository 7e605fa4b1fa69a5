import torch
import torch.nn as nn


class Model(nn.Module):
    """Returns logsumexp and the index of the maximum of each row."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.logsumexp(x, dim=-1), torch.argmax(x, dim=-1)


rows = 128
cols = 1500


def get_inputs():
    return [torch.randn(rows, cols) * 3.0]


def get_init_inputs():
    return []
