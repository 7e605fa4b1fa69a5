import torch
import torch.nn as nn


class Model(nn.Module):
    """bfloat16 gate: kept positions are gated, the others leak."""

    def __init__(self, leak):
        super().__init__()
        self.register_buffer("leak", torch.tensor(leak))

    def forward(self, x, gate, mask):
        return torch.where(mask, x * torch.sigmoid(gate), x * self.leak)


ROWS = 1030
COLS = 1024


def get_inputs():
    x = torch.randn(ROWS, COLS).to(torch.bfloat16)
    gate = torch.randn(ROWS, COLS).to(torch.bfloat16)
    mask = torch.rand(ROWS, COLS) > 0.5
    return [x, gate, mask]


def get_init_inputs():
    return [0.125]
