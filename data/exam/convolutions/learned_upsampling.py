import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.up = nn.ConvTranspose2d(in_channels=10, out_channels=6, kernel_size=2, stride=2)

    def forward(self, coarse):
        return self.up(coarse)


BATCH = 3
ROWS = 24
COLS = 20


def get_inputs():
    return [torch.randn(BATCH, 10, ROWS, COLS)]


def get_init_inputs():
    return []
