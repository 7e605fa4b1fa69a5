import torch
import torch.nn as nn

B = 2
S = 40
H = 4
D = 24


class Model(nn.Module):
    def __init__(self, s, d):
        super().__init__()
        ang = torch.outer(torch.arange(s).float(), 10000.0 ** (-torch.arange(0, d, 2).float() / d))
        self.register_buffer("cos", ang.cos())
        self.register_buffer("sin", ang.sin())

    def forward(self, x):
        a, b = x.chunk(2, -1)
        c, s = self.cos[:, None], self.sin[:, None]
        return torch.cat([a * c - b * s, a * s + b * c], -1)


def get_inputs():
    return [torch.randn(B, S, H, D)]


def get_init_inputs():
    return [S, D]
