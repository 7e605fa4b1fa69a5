import torch
import torch.nn as nn

ROWS = 40
COLS = 96


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=1)


def get_inputs():
    return [torch.randint(-50, 100, (ROWS, COLS))]
