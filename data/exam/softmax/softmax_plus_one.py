import torch
import torch.nn as nn


class Model(nn.Module):
    """Softmax with a one in the denominator, so that a row may attend to nothing."""

    def forward(self, x):
        top = x.amax(dim=-1, keepdim=True).clamp(min=0)
        e = torch.exp(x - top)
        return e / (torch.exp(-top) + e.sum(dim=-1, keepdim=True))


heads = 4
queries = 70
keys = 190


def get_inputs():
    return [torch.randn(heads, queries, keys)]


def get_init_inputs():
    return []
