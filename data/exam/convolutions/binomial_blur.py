import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Smooths each channel with a 3 by 3 binomial kernel, then takes every other pixel."""

    def __init__(self, channels: int):
        super().__init__()
        taps = torch.tensor([1.0, 2.0, 1.0])
        kernel = taps[:, None] * taps[None, :]
        kernel = kernel / kernel.sum()
        self.register_buffer("kernel", kernel.expand(channels, 1, 3, 3).contiguous())
        self.channels = channels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (1, 1, 1, 1), mode="replicate")
        return F.conv2d(padded, self.kernel, stride=2, groups=self.channels)


CHANNELS = 18


def get_inputs():
    return [torch.randn(2, CHANNELS, 41, 53)]


def get_init_inputs():
    return [CHANNELS]
