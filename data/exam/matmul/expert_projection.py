import torch
import torch.nn as nn


class Model(nn.Module):
    """Each group of features has a projection of its own."""

    def __init__(self, groups, fan_in, fan_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(groups, fan_in, fan_out) * fan_in**-0.5)
        self.bias = nn.Parameter(torch.zeros(groups, fan_out))

    def forward(self, x):
        return torch.einsum("bgi,gio->bgo", x, self.weight).add(self.bias)


G, I, O = 5, 36, 28
batch = 300


def get_inputs():
    return [torch.randn(batch, G, I)]


def get_init_inputs():
    return [G, I, O]
