import torch
import torch.nn as nn

BATCH = 6
LENGTH = 70
CHANNELS = 5
FILTERS = 7
TAPS = 3


class Model(nn.Module):
    def __init__(self, channels, filters, taps):
        super().__init__()
        self.conv = nn.Conv1d(channels, filters, taps, padding=taps // 2)

    def forward(self, x):
        return self.conv(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS, FILTERS, TAPS]
