import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Feature map to token sequence: (B, C, H, W) -> (B, H*W, C), layer norm over C."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps=1e-6)

    def forward(self, x):
        tokens = x.flatten(2).transpose(1, 2).contiguous()
        return self.norm(tokens)


BATCH = 4
CHANNELS = 52
HEIGHT = 13
WIDTH = 15


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) + 0.5]


def get_init_inputs():
    return [CHANNELS]
