import torch
import torch.nn as nn

ROWS = 24
INNER = 20
COLS = 28


class Model(nn.Module):
    def forward(self, x, w):
        return x @ w


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(COLS, INNER).t()]


def get_init_inputs():
    return []
