import torch
import torch.nn as nn

B = 128
WIDE = 100
OUT = 90


class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.fc = nn.Linear(i, o)

    def forward(self, x):
        return torch.sigmoid(self.fc(x))


def get_inputs():
    return [torch.randn(B, WIDE)]


def get_init_inputs():
    return [WIDE, OUT]
