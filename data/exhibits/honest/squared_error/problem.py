import torch
import torch.nn as nn

ROWS = 60
COLS = 50


class Model(nn.Module):
    def forward(self, x, y):
        return ((x - y) ** 2).mean()


def get_inputs():
    return [torch.randn(ROWS, COLS), torch.randn(ROWS, COLS)]
