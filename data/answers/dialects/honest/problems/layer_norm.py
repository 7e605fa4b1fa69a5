import torch
import torch.nn as nn

N = 24
M = 96


class Model(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=eps)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(2, N, M)]


def get_init_inputs():
    return [M]
