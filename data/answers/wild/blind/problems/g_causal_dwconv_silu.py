import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Causal depthwise conv1d followed by SiLU (as in state space blocks)."""

    def __init__(self, channels, kernel_size):
        super().__init__()
        self.kernel_size = kernel_size
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels, padding=kernel_size - 1)

    def forward(self, x):
        y = self.conv(x)[..., : x.shape[-1]]
        return F.silu(y)


batch = 4
channels = 96
length = 500
kernel_size = 4


def get_inputs():
    return [torch.randn(batch, channels, length)]


def get_init_inputs():
    return [channels, kernel_size]
