import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, border: int):
        super().__init__()
        self.pad = nn.ReflectionPad2d(border)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pad(x).abs()


ROWS, COLS = 71, 83


def get_inputs():
    return [torch.randn(7, 6, ROWS, COLS)]


def get_init_inputs():
    return [2]
