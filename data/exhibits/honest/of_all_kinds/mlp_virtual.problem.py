import torch
import torch.nn as nn

B = 32
WIDE = 40
H = 64
OUT = 10


class Model(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(i, h), nn.Mish(), nn.Linear(h, o))

    def forward(self, x):
        return self.net(x)


def get_inputs():
    return [torch.randn(B, WIDE)]


def get_init_inputs():
    return [WIDE, H, OUT]
