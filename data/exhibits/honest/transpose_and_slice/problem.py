import torch
import torch.nn as nn

ROWS = 63
COLS = 50


class Model(nn.Module):
    def forward(self, x):
        return x.t()[1:, ::2] * 2 + 1


def get_inputs():
    return [torch.randn(ROWS, COLS)]
