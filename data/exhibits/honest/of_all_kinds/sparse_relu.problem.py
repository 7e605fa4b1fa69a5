import torch
import torch.nn as nn

M = 50
N = 1000


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.hardshrink(x, 3.0)


def get_inputs():
    return [torch.randn(M, N)]


def get_init_inputs():
    return []
