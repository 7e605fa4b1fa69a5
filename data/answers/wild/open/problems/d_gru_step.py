import torch
import torch.nn as nn


class Model(nn.Module):
    """One step of a gated recurrent unit."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.GRUCell(input_size, hidden_size)

    def forward(self, x, h):
        return self.cell(x, h)


BATCH = 50
INPUT = 72
HIDDEN = 100


def get_inputs():
    return [torch.randn(BATCH, INPUT), torch.randn(BATCH, HIDDEN)]


def get_init_inputs():
    return [INPUT, HIDDEN]
