import torch
import torch.nn as nn

B = 3
C = 12
H = 18
W = 14


class Model(nn.Module):
    def __init__(self, g, c):
        super().__init__()
        self.gn = nn.GroupNorm(g, c)

    def forward(self, x):
        return nn.functional.silu(self.gn(x))


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return [4, C]
