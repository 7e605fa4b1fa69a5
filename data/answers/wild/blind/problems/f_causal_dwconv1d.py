import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal depthwise convolution with SiLU, as in state space blocks."""

    def __init__(self, channels, kernel_size):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels, padding=kernel_size - 1)

    def forward(self, x):
        length = x.shape[-1]
        y = self.conv(x)[..., :length]
        return F.silu(y)


BATCH = 3
CHANNELS = 40
LENGTH = 203
KERNEL = 4


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return [CHANNELS, KERNEL]
