import torch
import torch.nn as nn

N = 30000


class Model(nn.Module):
    def forward(self, x):
        s = x.abs().max() / 127
        return torch.round(x / s).to(torch.int32), s


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
