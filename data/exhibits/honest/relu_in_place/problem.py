import torch
import torch.nn as nn

ROWS = 60
COLS = 80


class Model(nn.Module):
    def forward(self, x, y):
        x.mul_(2.0).add_(y)
        return torch.relu_(x)


def get_inputs():
    return [torch.randn(ROWS, COLS), torch.randn(COLS)]
