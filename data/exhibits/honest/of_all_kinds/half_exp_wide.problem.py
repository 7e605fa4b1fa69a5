import torch
import torch.nn as nn

N = 100000


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x).half()


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
