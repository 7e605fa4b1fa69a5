import torch
import torch.nn as nn

ROWS = 400
COLS = 120


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(torch.sigmoid(x * 2), dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLS)]
