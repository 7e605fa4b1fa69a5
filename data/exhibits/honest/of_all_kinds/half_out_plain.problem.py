import torch
import torch.nn as nn

N = 10000


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x).half()


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
