import torch
import torch.nn as nn

N = 32
M = 100


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.randn(N, M)]


def get_init_inputs():
    return []
