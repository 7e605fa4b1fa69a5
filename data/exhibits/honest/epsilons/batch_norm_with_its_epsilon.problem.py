import torch
import torch.nn as nn

B, C = 64, 32


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(B, C)]


def get_init_inputs():
    return [C]
