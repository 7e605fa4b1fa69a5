import torch
import torch.nn as nn


class Model(nn.Module):
    """Interleaves the channels of groups, and scales each afterwards."""

    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.groups = groups
        self.scale = nn.Parameter(torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        x = x.view(b, self.groups, c // self.groups, h, w)
        x = x.transpose(1, 2).reshape(b, c, h, w)
        return x * self.scale.view(1, c, 1, 1)


GROUPS = 3
CHANNELS = 21
BATCH = 11


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, 30, 35)]


def get_init_inputs():
    return [GROUPS, CHANNELS]
