import torch
import torch.nn as nn

R = 100
N = 300


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(R, N)]


def get_init_inputs():
    return []
