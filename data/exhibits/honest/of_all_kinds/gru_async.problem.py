import torch
import torch.nn as nn

B = 6
T = 12
WIDE = 10
H = 16


class Model(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.gru = nn.GRU(i, h, batch_first=True)

    def forward(self, x):
        y, h = self.gru(x)
        return y, h


def get_inputs():
    return [torch.randn(B, T, WIDE)]


def get_init_inputs():
    return [WIDE, H]
