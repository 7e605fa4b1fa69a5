import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Maximum, its position and logsumexp over the middle dimension."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        values, indices = torch.max(x, dim=1)
        return values, indices, torch.logsumexp(x, dim=1)


BATCH = 6
LENGTH = 110
DIM = 75


def get_inputs():
    return [torch.randn(BATCH, LENGTH, DIM)]


def get_init_inputs():
    return []
