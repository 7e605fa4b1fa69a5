import torch
import torch.nn as nn

N = 300


class Model(nn.Module):
    def forward(self, x, y, plus):
        return torch.exp(-x.square()) + y if plus else torch.exp(-x.square()) - y


def get_inputs():
    return [torch.randn(N), torch.randn(N), True]


def get_init_inputs():
    return []
