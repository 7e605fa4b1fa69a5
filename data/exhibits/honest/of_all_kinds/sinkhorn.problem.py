import torch
import torch.nn as nn

N = 40
M = 50


class Model(nn.Module):
    def forward(self, c):
        z = c
        for _ in range(5):
            z = z - torch.logsumexp(z, 0, keepdim=True)
            z = z - torch.logsumexp(z, 1, keepdim=True)
        return z.exp()


def get_inputs():
    return [torch.randn(N, M)]


def get_init_inputs():
    return []
