import torch
import torch.nn as nn

BATCH = 60
D1 = 48
D2 = 36
OUT = 14


class Model(nn.Module):
    """tanh of a bilinear form of two vectors."""

    def __init__(self, d1, d2, out):
        super().__init__()
        self.bilinear = nn.Bilinear(d1, d2, out)

    def forward(self, x1, x2):
        return torch.tanh(self.bilinear(x1, x2))


def get_inputs():
    return [torch.randn(BATCH, D1), torch.randn(BATCH, D2)]


def get_init_inputs():
    return [D1, D2, OUT]
