import torch
import torch.nn as nn

N = 64
M = 128


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)

    def forward(self, x, scale: float):
        return torch.relu(self.linear(x)) * scale


def get_inputs():
    return [torch.randn(N, M), 2.5]


def get_init_inputs():
    return [M]
