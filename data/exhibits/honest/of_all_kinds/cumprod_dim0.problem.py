import torch
import torch.nn as nn

N = 50
M = 300


class Model(nn.Module):
    def forward(self, x):
        return torch.cumprod(x, dim=0)


def get_inputs():
    return [torch.rand(N, M) + 0.5]


def get_init_inputs():
    return []
