import torch
import torch.nn as nn

ROWS = 67
COLS = 91


class Model(nn.Module):
    def forward(self, x):
        y = x * torch.sigmoid(1.702 * x)
        return torch.tanh(y) + 0.1 * y


def get_inputs():
    return [torch.randn(ROWS, COLS)]
