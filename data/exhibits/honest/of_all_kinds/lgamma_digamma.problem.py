import torch
import torch.nn as nn

N = 10000


class Model(nn.Module):
    def forward(self, x):
        a = nn.functional.softplus(x) + 0.1
        return torch.lgamma(a), torch.digamma(a)


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
