import torch
import torch.nn as nn

B = 4
S = 60
D = 32


class Model(nn.Module):
    def forward(self, x):
        S, D = x.shape[1], x.shape[2]
        pos = torch.arange(S, dtype=x.dtype)[:, None]
        f = torch.exp(torch.arange(D, dtype=x.dtype) * (-0.25))
        return x + torch.sin(pos * f)


def get_inputs():
    return [torch.randn(B, S, D)]


def get_init_inputs():
    return []
