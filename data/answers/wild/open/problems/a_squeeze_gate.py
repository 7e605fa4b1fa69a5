import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 48
HEIGHT = 28
WIDTH = 30


class Model(nn.Module):
    """Channel gate: global average, per-channel affine, sigmoid, rescale."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels) * 0.5)

    def forward(self, x):
        s = x.mean(dim=(2, 3))
        g = torch.sigmoid(s * self.weight + self.bias)
        return x * g[:, :, None, None]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS]
