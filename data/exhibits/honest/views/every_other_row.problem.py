import torch
import torch.nn as nn

ROWS = 40
COLS = 48


class Model(nn.Module):
    def forward(self, x):
        return x * 2 - x.amax(dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(2 * ROWS, COLS)[::2]]


def get_init_inputs():
    return []
