import torch
import torch.nn as nn


class QuickGELU(nn.Module):
    """The sigmoid approximation of GELU."""

    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.act = QuickGELU()

    def forward(self, x):
        return self.act(x)


def get_inputs():
    return [torch.randn(77, 1536)]


def get_init_inputs():
    return []
