import torch
import torch.nn as nn

ROWS = 50
COLS = 96


class Model(nn.Module):
    def forward(self, x, scale):
        return torch.relu(x * scale + 0.25)


def get_inputs():
    return [torch.randn(ROWS, COLS).half(), torch.randn(COLS).half()]
