import torch
import torch.nn as nn


class Model(nn.Module):
    """Keeps each column within bounds of its own."""

    def __init__(self, columns):
        super().__init__()
        self.register_buffer("lo", -torch.linspace(0.2, 1.2, columns))
        self.register_buffer("hi", torch.linspace(0.3, 1.1, columns))

    def forward(self, table):
        return torch.minimum(torch.maximum(table, self.lo), self.hi)


COLUMNS = 225
ROWS = 1300


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [COLUMNS]
