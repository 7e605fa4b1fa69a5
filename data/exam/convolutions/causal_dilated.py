import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal convolution: pads on the left only."""

    def __init__(self, channels, kernel_size, dilation):
        super().__init__()
        self.left = (kernel_size - 1) * dilation
        self.conv = nn.Conv1d(channels, channels, kernel_size, dilation=dilation)

    def forward(self, x):
        x = F.pad(x, (self.left, 0))
        return self.conv(x)


CHANNELS = 16
BATCH = 4
LENGTH = 300


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS, 3, 4]
