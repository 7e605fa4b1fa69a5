import torch
import torch.nn as nn

N = 30000


class Model(nn.Module):
    def forward(self, x):
        s = 0.05
        return torch.clamp(torch.round(x / s), -128, 127) * s


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
