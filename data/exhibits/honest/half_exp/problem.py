import torch
import torch.nn as nn

ROWS = 80
COLS = 110


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x)


def get_inputs():
    return [torch.randn(ROWS, COLS).half() * 2]
