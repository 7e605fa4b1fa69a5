import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), 1 / 3))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        def norm(u):
            return u * torch.rsqrt(u.pow(2).mean(-1, keepdim=True) + 1e-6)

        first, second, third = self.weight
        return first * norm(x**3) + second * norm(x**2) + third * norm(x) + self.bias


def get_inputs():
    return [torch.randn(40, 256)]


def get_init_inputs():
    return []
