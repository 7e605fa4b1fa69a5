import torch
import torch.nn as nn

M = 64
N = 300


class Model(nn.Module):
    def forward(self, x, y):
        return (x > y) & (x > 0)


def get_inputs():
    return [torch.randn(M, N), torch.randn(M, N)]


def get_init_inputs():
    return []
