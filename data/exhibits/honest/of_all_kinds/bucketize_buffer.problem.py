import torch
import torch.nn as nn

N = 5000
K = 20


class Model(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.register_buffer("edges", torch.linspace(-2, 2, k))

    def forward(self, x):
        return torch.bucketize(x, self.edges)


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return [K]
