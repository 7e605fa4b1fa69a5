import torch
import torch.nn as nn

B = 32
N = 500
K = 8


class Model(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        v, i = torch.topk(x, self.k, dim=1)
        return v, i


def get_inputs():
    return [torch.randn(B, N)]


def get_init_inputs():
    return [K]
