import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x, residual):
        total = x + residual
        return total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight, total


def get_inputs():
    return [torch.randn(50, 256), torch.randn(50, 256)]


def get_init_inputs():
    return [256]
