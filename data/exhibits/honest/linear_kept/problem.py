import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, k, m):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(m, k))

    def forward(self, x):
        return torch.relu(x @ self.weight.t())


N = 24


def get_inputs():
    return [torch.randn(N, 16)]


def get_init_inputs():
    return [16, 20]
