import torch
import torch.nn as nn


class Model(nn.Module):
    """Image preprocessing: uint8 NHWC -> normalized float NCHW."""

    def __init__(self, channels):
        super().__init__()
        self.register_buffer("mean", torch.linspace(0.4, 0.5, channels).view(1, channels, 1, 1))
        self.register_buffer("std", torch.linspace(0.2, 0.3, channels).view(1, channels, 1, 1))

    def forward(self, img):
        x = img.permute(0, 3, 1, 2).float() / 255.0
        return ((x - self.mean) / self.std).contiguous()


BATCH = 5
HEIGHT = 112
WIDTH = 130
CHANNELS = 3


def get_inputs():
    return [torch.randint(0, 256, (BATCH, HEIGHT, WIDTH, CHANNELS), dtype=torch.uint8)]


def get_init_inputs():
    return [CHANNELS]
