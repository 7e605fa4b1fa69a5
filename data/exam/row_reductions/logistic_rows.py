import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = nn.Parameter(torch.randn(n) * 0.1)
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return torch.sigmoid(torch.sum(x * self.w, 1, keepdim=True) + self.b)


N = 400


def get_inputs():
    return [torch.randn(1150, N)]


def get_init_inputs():
    return [N]
