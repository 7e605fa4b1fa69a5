import torch
import torch.nn as nn

ROWS = 40
COLS = 96


class Model(nn.Module):
    def forward(self, x):
        return torch.log10(x)


def get_inputs():
    return [torch.rand(ROWS, COLS) + 1.5]
