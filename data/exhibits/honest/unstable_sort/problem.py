import torch
import torch.nn as nn

ROWS = 40
COLS = 120


class Model(nn.Module):
    def forward(self, x):
        return torch.sort(x, dim=-1)


def get_inputs():
    return [1 + torch.randint(0, 12, (ROWS, COLS)) / 1000]
