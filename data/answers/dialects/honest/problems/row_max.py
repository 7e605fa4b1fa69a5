import torch
import torch.nn as nn

N = 40
M = 70


class Model(nn.Module):
    def forward(self, x):
        values, where = torch.max(x, dim=1)
        return values, where


def get_inputs():
    return [torch.randn(N, M)]


def get_init_inputs():
    return []
