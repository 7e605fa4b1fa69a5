import torch
import torch.nn as nn

R = 500
N = 100


class Model(nn.Module):
    def forward(self, x):
        return x.sum(1) > 0


def get_inputs():
    return [torch.randn(R, N)]


def get_init_inputs():
    return []
