import torch
import torch.nn as nn

B = 16
C = 10
L = 30


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.bn = nn.BatchNorm1d(c, track_running_stats=False)

    def forward(self, x):
        return self.bn(x)


def get_inputs():
    return [torch.randn(B, C, L)]


def get_init_inputs():
    return [C]
